from helpers.checks.exercise import Lab

lab = Lab(
    __name__,
    "06_cifar10_in_seconds",
    seconds=30,
    section="Images that never leave the device",
    hints="""
    not-images: `{name}` returns {found}, but it should return images of {given}.
        -> Dtype, shape and order of dimensions stay the same: images, channels, rows, columns.
    one-by-one: Your function calls {few} torch operations for {small} images, {many} for {large}.
        -> On a GPU, each operation is a kernel launch. Where does your code loop over images?
    not-random: Two calls with the same images return the same result.
        -> Each epoch should see new variations. Where does your code fix its random numbers?
    """,
)
