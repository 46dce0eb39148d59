"""Several systems side by side under the same conditions: what was asked, where each run lies, and the report."""
