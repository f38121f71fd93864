"""Builds notebooks from their sources, keeps stored outputs tidy, and releases a fork."""
