"""Hosts from the text that people send: lspci dumps, listings, kernel words."""
