"""The way from one duty to the other."""
