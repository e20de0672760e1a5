"""What a host is and what is wanted of it: data, no I/O."""
