"""When the kernel turns ATS on, and why not."""
