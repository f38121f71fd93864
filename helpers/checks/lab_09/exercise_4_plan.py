"""Lab 09, exercise 4: bytes of memory and bytes sent, for one GPU."""

from helpers.checks.plain import is_close, is_number

answers = "plan(method, parameters, gpus)"
points = 3
success = "You know what fits before you rent the GPUs."
section = "When memory is the limit"
tolerance = 1e-6
# Bytes per parameter that each method shards, and passes around the ring.
METHODS = {"ddp": (0, 2), "zero1": (12, 2), "zero2": (14, 2), "fsdp": (16, 3)}


def cases(draw):
    for gpus in (draw.choice([4, 8, 64]), 1):
        parameters = draw.randint(2, 90) * 64 * 10**6
        for method in METHODS:
            yield {"method": method, "parameters": parameters, "gpus": gpus}


def right(case):
    sharded, passes = METHODS[case.method]
    memory = case.parameters * (16 - sharded + sharded / case.gpus)
    return memory, passes * 2 * case.parameters * (case.gpus - 1) / case.gpus


def wrong(index, f):
    numbers = {"found": f.value[index], "exact": f.right[index], "parameters": f.case.parameters}
    return {name: f"{number:,.0f}" for name, number in numbers.items()}


returns = (
    "not-a-pair",
    lambda x, case: isinstance(x, tuple | list) and [*map(is_number, x)] == [True, True],
)
mistakes = {
    "wrong-memory": lambda f: not is_close(f.value[0], f.right[0], tolerance, 0) and wrong(0, f),
    "wrong-bytes": lambda f: wrong(1, f),
}
hints = """
not-a-pair: `plan` returns {found}, but it should return two numbers: memory and bytes sent.
    -> Return two values, separated by a comma.
wrong-memory: {method} with {parameters} parameters on {gpus} GPUs takes {exact} bytes, not {found}.
    -> Weights 2, gradients 2, Adam's state 12 bytes per parameter. Which of them are divided among
    the GPUs? The result is for one GPU.
wrong-bytes: For {method}, {parameters} parameters and {gpus} GPUs, {exact} bytes are sent; you
    count {found}.
    -> An all-reduce is two passes around the ring. How many has {method}? What is sent in one?
"""
