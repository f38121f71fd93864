"""Executes notebooks: kernels, GPUs, parameters, and the command `course run`."""
