"""Grades a class: finds the submissions, runs each in a box of its own, writes the gradebook."""
