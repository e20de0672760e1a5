"""A VM against its plan: what arrived is what was planned, or what differs and why."""
