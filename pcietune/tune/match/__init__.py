"""Which kind of host this is: its fabric, roles, and the profile that describes it."""
