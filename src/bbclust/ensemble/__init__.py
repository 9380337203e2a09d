"""The replicas: what they depend on, how a block of them is run, and who runs the blocks."""
