"""What runs of pcietune keep on the host: lock, undo record, proofs."""
