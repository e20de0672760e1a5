"""What is shown of a host without judging it."""
