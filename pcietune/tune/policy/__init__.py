"""What the udev hook is told, compiled from an audited host."""
