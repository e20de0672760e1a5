"""Plan, apply and restore changes."""
