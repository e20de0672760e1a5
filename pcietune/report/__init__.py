"""Findings and fabrics as JSON and as text."""
