"""What we ask the LM: one DSPy signature a file, with the typed values that it takes and gives."""
