"""Lab 09, exercise 4: bytes of memory and bytes sent, for one GPU."""

from helpers.checks.plain import is_close, is_number

answers = "plan(method, parameters, gpus)"
points = 3
success = "You know what fits before you rent the GPUs."
section = "When memory is the limit"

# Bytes per parameter that each method shards, and passes around the ring.
METHODS = {"ddp": (0, 2), "zero1": (12, 2), "zero2": (14, 2), "fsdp": (16, 3)}


def cases(draw):
    for gpus in (draw.choice([4, 8, 64]), 1):
        parameters = draw.randint(2, 90) * 64 * 10**6
        for method in METHODS:
            yield {"method": method, "parameters": parameters, "gpus": gpus}


def memory(case):
    sharded, _ = METHODS[case.method]
    return case.parameters * (16 - sharded + sharded / case.gpus)


def sent(case):
    return METHODS[case.method][1] * 2 * case.parameters * (case.gpus - 1) / case.gpus


def is_pair(value, case):
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(is_number, value))


def wrong(index, exact, mistake=None):
    """Return a row: the value at this index is not right, and is that of a mistake, if given."""

    def predicate(f):
        value, expected = f.value[index], exact(f.case)
        if is_close(value, expected, 1e-6, 1e-3):
            return None
        found, exact_text = f"{value:,.0f}", f"{expected:,.0f}"
        texts = {"found": found, "exact": exact_text, "parameters": f"{f.case.parameters:,}"}
        return (mistake is None or is_close(value, mistake(f.case), 1e-6, 1e-3)) and texts

    return predicate


returns = ("not-a-pair", is_pair)
side_effects = {
    "sum-over-gpus": wrong(0, memory, lambda case: memory(case) * case.gpus),
    "all-sharded": wrong(0, memory, lambda case: 16 * case.parameters / case.gpus),
    "nothing-sharded": wrong(0, memory, lambda case: 16 * case.parameters),
    "wrong-memory": wrong(0, memory),
    "single-gpu-sends": lambda f: f.case.gpus == 1 and wrong(1, sent)(f),
    "single-pass": wrong(1, sent, lambda case: sent(case) / METHODS[case.method][1]),
    "fsdp-as-ddp": wrong(1, sent, lambda case: sent(case) / 3 * 2),
    "wrong-bytes": wrong(1, sent),
}
hints = """
not-a-pair: `plan` returns {found}, but it should return two numbers: memory and bytes sent.
    -> Return two values, separated by a comma.
sum-over-gpus: For {method}, {parameters} parameters and {gpus} GPUs, your memory is {found} bytes:
    that of all GPUs together.
    -> The question is about one GPU.
all-sharded: For {method}, {parameters} parameters and {gpus} GPUs, your memory is {found} bytes, as
    if everything were sharded.
    -> What does every GPU still hold in full? Add these bytes to those of the shard.
nothing-sharded: For {method}, {parameters} parameters and {gpus} GPUs, your memory is {found}
    bytes, as if nothing were sharded.
    -> Which of the 2, 2 and 12 bytes are divided by the number of GPUs?
wrong-memory: For {method}, {parameters} parameters and {gpus} GPUs, memory is {exact} bytes; you
    return {found}.
    -> Weights 2, gradients 2, Adam's state 12 bytes per parameter. What does the table say is
    sharded?
single-gpu-sends: A single GPU has no other GPU to send to, but you count {found} bytes.
    -> What is (N - 1) / N for N = 1?
single-pass: For {method}, {parameters} parameters and {gpus} GPUs, you count {found} bytes sent,
    which is one pass around the ring.
    -> How many all-gathers and reduce-scatters does the table list?
fsdp-as-ddp: For {method}, {parameters} parameters and {gpus} GPUs, you count {found} bytes sent, as
    many as for DDP.
    -> A GPU frees the gathered weights after the forward pass. When does it need them again?
wrong-bytes: For {method}, {parameters} parameters and {gpus} GPUs, {exact} bytes are sent; you
    count {found}.
    -> How many bytes are the weights, and how many are the gradients? Adam's state is never sent.
"""
