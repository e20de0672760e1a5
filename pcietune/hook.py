"""The udev fast path: what is done when a function that the policy names is added."""
