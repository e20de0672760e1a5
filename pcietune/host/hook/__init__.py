"""What the udev hook does to a host; all of it is quick to import."""
