"""The checks of lab 02, device-mismatch errors: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "02_device_mismatch_errors",
    section="One error, word by word",
    hints="""
    input-changed: After `{name}`, one of the caller's tensors contains different numbers.
        -> Some operations write to the tensor on their left. Which of your lines does?
    net-moved: After `{name}`, the network is on {found}. It was on {given} and should stay there.
        -> A network moves in place, for all code that uses it. What can you move instead?
        see: Matrix products and layers
    """,
)
