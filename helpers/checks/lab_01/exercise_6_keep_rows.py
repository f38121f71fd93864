"""Lab 01, exercise 6: keep a row of each result without keeping the whole result in memory."""

import torch

from helpers.checks.plain import PlainTensor, is_list, is_tensor

answers = "keep_rows(results)"
points = 2
success = "Only the rows that you keep stay in memory."
section = "How much memory a tensor takes"


def cases(draw):
    for device in draw.devices:
        rows, columns = draw.randint(40, 60), draw.randint(4, 9)
        results = [draw.normal(rows, columns, device=device) for _ in range(draw.randint(3, 5))]
        needed = 4 * columns * len(results)
        yield {"results": results, "device": device, "count": len(results), "needed": needed}


def collect(call, case, keep_rows):
    results = [result.make() for result in case.results]
    facts = call(keep_rows, results)
    kept = facts.result if isinstance(facts.result, list) else []
    with torch._C.DisableTorchFunctionSubclass():
        storages = [torch.Tensor.untyped_storage(x) for x in kept if isinstance(x, torch.Tensor)]
    # Rows may share one storage.
    return facts.add(held=sum({s.data_ptr(): s.nbytes() for s in storages}.values()))


def right(case):
    return [PlainTensor(result.values[0], case.device) for result in case.results]


returns = ("not-a-list", lambda value, case: is_list(value, case.count, is_tensor))
mistakes = {
    "row-moved": lambda f: any(row.device != f.case.device for row in f.value),
    "wrong-rows": True,
}
costs = {"keeps-the-results": lambda f: f.held > f.case.needed}
questions = ["copied"]
hints = """
not-a-list: `keep_rows` returns {what}, but it should return a list of {count} tensors.
    -> The list has one row for each result, in the same order.
row-moved: The results are on {device}, but a row that you keep is not.
    -> The rows stay on their device. Which call moves them?
wrong-rows: The kept tensors are not the first rows of the results.
    -> What do you return for a result of two rows? Only the memory behind the row should change.
keeps-the-results: The rows have {needed:,} bytes, but they keep {held:,} bytes in memory.
    -> `row.untyped_storage().nbytes()` is what a tensor keeps. Which call gives a row memory of its
    own, and on what do you have to call it?
"""
