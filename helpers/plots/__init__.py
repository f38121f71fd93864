"""All figures of the lessons, one module per subject; `style.py` has what they share."""
