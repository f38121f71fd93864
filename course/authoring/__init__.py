"""Builds notebooks from their sources, cleans stored outputs, and publishes a fork."""
