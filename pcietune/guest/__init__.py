"""What a VM is given: a plan made from the host's fabric, and the texts made from a plan.

Pure: a host's model in, plans and texts out.
"""
