"""Words for the kernel command line: made, merged, quoted, checked."""
