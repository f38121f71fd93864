"""Grades a class: finds the submissions, runs each in its own sandbox, and writes the gradebook."""
