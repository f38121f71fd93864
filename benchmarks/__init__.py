"""Measurements side by side: each is compared with a named baseline in the same run."""
