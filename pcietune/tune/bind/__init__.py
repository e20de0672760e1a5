"""What may be handed to VFIO or taken back, and the steps that do it."""
