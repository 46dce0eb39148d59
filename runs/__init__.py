"""What a person runs: command line, LM backends, benchmarks, demo."""
