"""The checks of lab 06, CIFAR-10 in seconds: one module per exercise."""

from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "06_cifar10_in_seconds",
    seconds=30,
    section="Images that never leave the device",
    hints="""
    not-images: `{name}` returns {found}, but it should return images of {given}.
        -> Dtype, shape and order of dimensions stay the same: images, channels, rows, columns.
    result-elsewhere: The images are on {given}, but the result of `{name}` is on {found}.
        -> A batch on the GPU should stay there. How can your code find out which device to use?
    copied: Your function copies {bytes} bytes between devices.
        -> Random numbers can be drawn where they are needed. Which call draws them, and where?
    input-changed: After the call, the caller's images have changed.
        -> The next epoch needs the original images. Which line writes to them?
    one-by-one: Your function calls {few} torch operations for {small} images, {many} for {large}.
        -> On a GPU, each operation is a kernel launch. Where does your code loop over images?
    not-random: Two calls with the same images return the same result.
        -> Each epoch should see new variations. Where does your code fix its random numbers?
    """,
)
