"""Benchmarks of the machinery itself: one file a benchmark, one table; `make bench` runs them all."""
