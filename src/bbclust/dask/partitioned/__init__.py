"""A table in partitions, larger than memory: another way to the same results."""
