"""What programs that measure bandwidth print."""
