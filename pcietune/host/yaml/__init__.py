"""YAML to typed values, every complaint with its line."""
