"""Lab 00, exercise 5: `dot_product`."""

from helpers.checks.lab_00.shared import lab, program_of, run
from helpers.checks.trial import Answer, Trial


@lab.exercise(5, points=4, success_message="Every lane does its share, for any number of lanes.")
def exercise_5(trial: Trial, dot_product: Answer) -> None:
    """`dot_product()`: a program whose lanes each store a part of the sum of x[i] * w[i]."""
    program = program_of(trial, dot_product)
    for lanes, n in ((8, 19), (4, 16), (2, 7), (4, 3), (1, 5)):
        x = [trial.random.randint(2, 20) for _ in range(n)]
        w = [trial.random.randint(2, 20) for _ in range(n)]
        data = {"x": x, "w": w, "n": n}
        computer = run(trial, program, lanes=lanes, part=[777] * lanes, **data)
        parts = computer["part"]
        exact = sum(a * b for a, b in zip(x, w, strict=True))
        details = {"lanes": lanes, "n": n, "found": sum(parts), "exact": exact, "parts": parts}
        stored_parts = [part for part in parts if part != 777]
        trial.expect(stored_parts, "no-parts", **details)
        trial.expect(lanes == 1 or parts != [exact] * lanes, "every-lane-does-all", **details)
        if len(stored_parts) < lanes:
            raise trial.wrong("one-part" if len(stored_parts) == 1 else "parts-missing", **details)
        if sum(parts) != exact:
            one_step = sum(a * b for a, b in zip(x[:lanes], w[:lanes], strict=True))
            trial.expect(not (n > lanes and sum(parts) == one_step), "one-product-each", **details)
            raise trial.wrong("wrong-sum", **details)
        if n >= 4 * lanes > 4:
            single_lane_cycles = run(trial, program, lanes=1, part=[777], **data).cost.cycles
            share = computer.cost.cycles / single_lane_cycles
            trial.expect(share < 0.6, "work-not-shared", share=share, **details)
