"""Profiles' files: their format, where they are, what they extend."""
