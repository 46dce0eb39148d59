"""MiniHop."""
