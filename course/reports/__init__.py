"""HTML reports of runs, batches and grades."""
