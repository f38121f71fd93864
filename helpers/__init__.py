"""Helper functions for the lessons. Start with `lesson.py`."""
