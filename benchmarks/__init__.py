"""Side-by-side measurements, each a ratio against a named baseline in one run."""
