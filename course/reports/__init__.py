"""HTML pages about runs and batches."""
