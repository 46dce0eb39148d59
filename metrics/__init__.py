"""What it was worth: answers and evidence, scored."""
