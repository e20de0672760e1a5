"""A real Linux kernel on an emulated GPU server: boots it, and lets a test run programs on it."""
