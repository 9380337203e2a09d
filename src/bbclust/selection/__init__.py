"""Choosing K: the grid of K and s, the criteria, and what they say together."""
