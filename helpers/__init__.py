"""The small package that the lessons import; start reading at `lesson.py`."""
