"""Benchmarks, each with a named baseline that is measured in the same run."""
