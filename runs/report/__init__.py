"""The report of one or more runs: a self-contained page and a Markdown summary, both from the same tables."""
