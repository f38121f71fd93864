"""Lab 08, exercise 3: `predict`."""

import torch
import torch.nn.functional as F

from helpers.checks.descriptions import describe
from helpers.checks.lab_08.shared import lab
from helpers.checks.trial import Answer, Trial

# The hint for a wrong dtype of each expression.
KINDS = {
    "x @ w": "wrong-product",
    "F.linear(h, w)": "wrong-product",
    "h.softmax(1) @ w": "wrong-product",
    "x + w": "wrong-input-dtype",
    "h.relu()": "wrong-input-dtype",
    "h + x": "wrong-widest-dtype",
    "torch.cat([h, x])": "wrong-widest-dtype",
    "h.softmax(1)": "wrong-sensitive-operation",
    "h.sum()": "wrong-sensitive-operation",
    "F.cross_entropy(h, t)": "wrong-sensitive-operation",
}


@lab.exercise(3, points=2, success_message="All ten dtypes are right.")
def exercise_3(trial: Trial, predict: Answer) -> None:
    """`predict()`: the dtype of each expression under autocast with float16."""
    result = trial.result_of(predict)
    has_all_keys = isinstance(result, dict) and set(result) == set(KINDS)
    trial.expect(has_all_keys, "not-the-dictionary", what=describe(result))
    for name, dtype in result.items():
        is_dtype = isinstance(dtype, torch.dtype)
        trial.expect(is_dtype, "not-a-dtype", name=name, found=repr(dtype))
    actual = _run(trial)
    num_right = sum(result[name] == actual[name] for name in KINDS)
    for hint in dict.fromkeys(KINDS.values()):
        all_right = all(result[name] == actual[name] for name in KINDS if KINDS[name] == hint)
        trial.expect(all_right, hint, right=num_right)


def _run(trial: Trial) -> dict[str, torch.dtype]:
    x, w = trial.normal(4, 4, device=trial.device), trial.normal(4, 4, device=trial.device)
    t = trial.integers(0, 4, (4,), device=trial.device)
    with torch.autocast("cuda", dtype=torch.float16):
        h = x @ w
        results = {
            "x @ w": h,
            "F.linear(h, w)": F.linear(h, w),
            "h.softmax(1) @ w": h.softmax(1) @ w,
            "x + w": x + w,
            "h.relu()": h.relu(),
            "h + x": h + x,
            "torch.cat([h, x])": torch.cat([h, x]),
            "h.softmax(1)": h.softmax(1),
            "h.sum()": h.sum(),
            "F.cross_entropy(h, t)": F.cross_entropy(h, t),
        }
    return {name: value.dtype for name, value in results.items()}
