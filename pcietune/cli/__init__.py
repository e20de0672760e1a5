"""Arguments in, text out, exit code: one module per command, no decisions."""
