"""A finished run in MLflow: figures, parameters, tables and prompts, written once from the run folder."""
