"""The embedded LM: a small open model served inside the process, for machines without any other LM."""
