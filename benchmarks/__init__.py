"""Benchmarks: each one is compared with a named baseline in the same run."""
