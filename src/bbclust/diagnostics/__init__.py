"""What a fitted ensemble can be asked, as functions of arrays."""
