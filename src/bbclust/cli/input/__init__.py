"""From a file to a table of numbers."""
