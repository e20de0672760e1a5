"""The files of boot loaders that make the kernel command line."""
