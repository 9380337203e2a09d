"""Questions to a fitted model, by subject: short methods that call ``diagnostics/``."""
