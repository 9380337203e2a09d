"""From results to files and to the terminal."""
