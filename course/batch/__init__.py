"""`course run` executes the lessons once; `course batch`, with many sets of parameters."""
