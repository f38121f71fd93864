"""Lab 00, exercise 6: split eight numbers into two groups that take the fewest cycles."""

from itertools import combinations

from helpers.small_computer import SmallComputer

answers = "groups(x)"
points = 2
success = "Lanes of a group take the same branch wherever that is possible."
section = "Many lanes, one control unit"

LANES = 4
# The program shown in the lab: the two branches execute different instructions.
LEAKY = """
        LOAD A, x[LANE]
        CMP  A, 0
        JNN  keep
        MUL  A, 10
        ADD  A, 1
        SUB  A, 3
        JUMP save
keep:   MUL  A, 3
        ADD  A, 2
        MUL  A, A
save:   STORE A, y[LANE]
        HALT
"""


def cases(draw):
    for negatives in (4, draw.choice([1, 2, 3]), draw.choice([5, 6, 7]), 0, 8):
        sizes = draw.sample(range(1, 99), 8)
        x = [-size if i < negatives else size for i, size in enumerate(sizes)]
        if negatives == 4:
            # Neither the halves of the list nor every second number have one sign.
            x = [x[i] for i in (0, 4, 5, 1, 2, 6, 7, 3)]
        else:
            draw.shuffle(x)
        yield {"x": x, "best": fewest_cycles(x)}


def count_cycles(*groups):
    computers = (SmallComputer(LEAKY, lanes=LANES, x=list(x), y=[0] * LANES) for x in groups)
    return sum(computer.run().cycles for computer in computers)


def fewest_cycles(x):
    negatives = sum(value < 0 for value in x)
    counts = {sum(x[i] < 0 for i in indices) for indices in combinations(range(8), LANES)}
    groups = [[[-1] * n + [1] * (LANES - n) for n in (m, negatives - m)] for m in counts]
    return min(count_cycles(*pair) for pair in groups)


def is_pair_of_lists(value, case):
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return is_pair and all(isinstance(group, tuple | list) for group in value)


def right(case):
    return case.best


def outcome(f):
    return count_cycles(*f.value)


returns = ("not-two-groups", is_pair_of_lists)
side_effects = {
    "not-four-each": lambda f: (
        (sizes := [len(group) for group in f.value]) != [LANES] * 2 and {"sizes": sizes}
    ),
    "different-numbers": lambda f: (
        sorted([*f.value[0], *f.value[1]]) != sorted(f.case.x) and {"found": [*map(list, f.value)]}
    ),
}
mistakes = {"diverges": lambda f: {"one": list(f.value[0]), "two": list(f.value[1])}}
hints = """
not-two-groups: `groups` returns {what}, but it should return two lists.
    -> Return both lists, separated by a comma.
not-four-each: Your groups have {sizes} numbers, but a computer with four lanes takes four at a
    time.
    -> Fill the first group completely. The rest is the second group.
different-numbers: For x = {x}, your groups are {found}: these are not the same eight numbers.
    -> Every number belongs to exactly one group, with its sign.
diverges: For x = {x}, your groups {one} and {two} take {found} cycles together; the best groups
    take {best}.
    -> What decides which branch a lane takes? A group whose lanes take both branches takes the
    cycles of both.
"""
