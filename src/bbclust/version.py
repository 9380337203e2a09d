"""The version, for the package and for the files it writes, and the number of its results."""

__version__ = "0.1.0"

# Rises whenever the same data, parameters and seed give another result: what an earlier number
# computed is never joined with what this one computes.
RESULTS = 10

# What all machines of a cluster must have in common.
BUILD = f"{__version__} with results {RESULTS}"
