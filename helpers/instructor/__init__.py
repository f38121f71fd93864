"""The command `course`: build, run and report on the notebooks."""
