"""Lab 00, exercise 5: how many warps hide the latency of memory."""

answers = "warps_needed(latency, others)"
points = 2
success = "With so many warps, the control unit never has to wait for memory."
section = "Many warps hide the time of memory"


def cases(draw):
    # The fraction is above and below one half, for answers that round to the nearest number.
    yield from ({"latency": latency, "others": 3} for latency in (24, 22))
    for _ in range(3):
        others, passes = draw.randint(2, 9), draw.randint(5, 40)
        for rest in (draw.randint(2, others), 1):
            yield {"latency": passes * (1 + others) + rest, "others": others}
    yield {"latency": draw.randint(4, 99), "others": 0}
    yield {"latency": 1, "others": draw.randint(1, 9)}


def right(case):
    return -(-(case.latency + case.others) // (1 + case.others))


returns = ("not-an-int", lambda value, case: type(value) is int)
wrong_outcomes = {"one-too-few": lambda case: right(case) - 1}
mistakes = {"wrong-warps": True}
hints = """
one-too-few: For a latency of {latency} and {others} other instructions, {found} warps are one too
    few: in some cycles, all of them wait.
    -> How many cycles does a whole pass of one warp take, and what should a fraction become?
wrong-warps: For a latency of {latency} and {others} other instructions, {found} is not the smallest
    number of warps.
    -> Draw a row for each warp, with a dot in each cycle in which it executes an instruction. How
    many dots and how many cycles does a pass have?
"""
