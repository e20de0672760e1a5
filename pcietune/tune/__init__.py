"""The use cases: match, audit, plan, apply, restore."""
