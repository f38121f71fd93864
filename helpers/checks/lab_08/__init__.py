"""The checks of lab 08, mixed precision and profiling: one module per exercise."""

from helpers.checks.exercise import Lab

hints = """
input-changed: Your function changes its input.
    -> Operations whose names end in an underscore, and assignments to elements, work in place.
    see: Numbers in 32, 16 and 8 bits
not-a-number: Your function returns {what}, but it should return a Python number.
    -> Which method of a tensor returns a Python number?
"""
lab = Lab(
    __name__, "08_mixed_precision_and_profiling", hints=hints, section="Gradients that vanish"
)
