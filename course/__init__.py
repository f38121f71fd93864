"""The command `course`: builds, runs, batches, grades and reports on the notebooks."""
