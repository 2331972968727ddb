"""The knowledge tools: shared pages, notes and pins as agents use them (reference 2)."""
