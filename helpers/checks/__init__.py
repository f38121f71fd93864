"""Checks of the lab exercises: the shared engine, and one package per lab."""
