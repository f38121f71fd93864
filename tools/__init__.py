"""Maintainers' scripts: `python -m tools.NAME`."""
