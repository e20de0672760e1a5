"""Where the packets between two functions go, why, and what that costs."""
