"""Executes notebooks: kernels, GPUs, parameters, limits and progress."""
