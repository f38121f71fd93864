"""Lab 06, exercise 4: linear warmup, then linear decay."""

from helpers.checks.plain import is_number

answers = "lr_at(step, num_steps, peak_lr, warmup_steps)"
points = 2
success = "The learning rate rises linearly, and decays linearly to zero."
section = "The rest of the recipe"
tolerance = 1e-6


def cases(draw):
    r = draw.randint
    for warmup in (r(5, 20), 0):
        num_steps, peak_lr = warmup + r(30, 90), r(2, 9) / 16
        steps = [warmup, 0, num_steps, warmup // 2, num_steps - 1, warmup + 1]
        case = {"num_steps": num_steps, "peak_lr": peak_lr, "warmup_steps": warmup}
        yield from ({**case, "step": step} for step in [*steps, r(0, num_steps), r(0, num_steps)])


def right(case):
    if case.step < case.warmup_steps:
        return case.peak_lr * case.step / case.warmup_steps
    return case.peak_lr * (case.num_steps - case.step) / (case.num_steps - case.warmup_steps)


returns = ("not-a-rate", lambda value, case: is_number(value))
mistakes = {"wrong-warmup": lambda f: f.case.step < f.case.warmup_steps, "wrong-decay": True}
hints = """
not-a-rate: `lr_at` returns {found}, but it should return a number.
    -> The learning rate at one step is one plain number.
wrong-warmup: At step {step} of a warmup of {warmup_steps} steps, the learning rate is {found:.4g};
    it should be on a straight line from 0 at step 0 to {peak_lr:.4g} at step {warmup_steps}.
    -> Which fraction of the warmup is done at this step?
wrong-decay: At step {step} of {num_steps}, the learning rate is {found:.4g}; it should be on a
    straight line from the peak at step {warmup_steps} to 0 at step {num_steps}.
    -> Which fraction of the decay is still ahead at this step? Count only the steps of the decay.
"""
