"""Every figure that the lessons show, one module a subject; `style.py` is what they share."""
