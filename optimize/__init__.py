"""Better prompts, kept apart from the baseline: the metric with feedback, the compilers, and variants on disk."""
