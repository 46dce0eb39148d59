"""The commands, one a module: each adds its options to the parser and runs; heavy imports are inside `run`."""
