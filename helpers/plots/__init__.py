"""The figures of the lessons, one module per subject. `style.py` has the shared style."""
