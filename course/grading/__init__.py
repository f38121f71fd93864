"""Grades a class: finds the submissions, runs each in its own sandbox, writes the gradebook."""
