"""Others' predictions and traces made into a run folder: one reader a layout, then matching, mapping, writing."""
