"""The figures of the lessons, one module per subject, in the style of `style.py`.

`drawings/` has those without data, as boxes, arrows and labels.
"""
