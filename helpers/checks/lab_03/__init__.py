from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "03_moving_a_network",
    seconds=20,
    section="What moves with a network, and what does not",
    hints="""
    not-a-module: `{name}(...)` returns {what}, which is not an `nn.Module`.
        -> Fix the given class and keep its first two lines.
    different-scores: For the same input, `{name}` returns different numbers than the given class.
        -> The given class computes the right result. Change only where tensors are kept or created.
    state-not-moved: The network is on {wanted}, but `{entry}` in the optimizer's state is still on
        {found}: the next step mixes the two devices.
        -> The network does not know its optimizer. What moves state to its parameter's device?
        see: Gradients and the optimizer
    """,
)
