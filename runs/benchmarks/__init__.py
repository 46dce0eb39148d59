"""Benchmarks as typed records, DSPy examples and a corpus."""
