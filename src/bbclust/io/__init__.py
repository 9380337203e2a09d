"""Model files: arrays and JSON in one checksummed file, no pickle."""
