"""The checks of lab 04, CIFAR-10 on a GPU: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "04_cifar10_on_gpu",
    seconds=20,
    section="How good is it?",
    hints="""
    keeps-gradients: Gradients were tracked during the evaluation of the network.
        -> Which block turns gradient tracking off, and is the call to the network inside it?
    many-fetches: For {batches} batches, you read from the GPU {fetched} times; once is enough.
        -> Which line in your loop turns a tensor into a Python number, or copies it to the CPU?
        `bincount` and `x[mask]` read from the GPU too. The sum can stay on the device of the
        predictions.
    """,
)
