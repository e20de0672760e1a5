"""Host archives: made, packed, and read."""
