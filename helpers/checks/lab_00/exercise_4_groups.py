"""Lab 00, exercise 4: split eight numbers into two groups that take the fewest cycles."""

answers = "groups(x)"
points = 2
success = "Lanes of a group take the same branch wherever that is possible."
section = "Many lanes, one control unit"


def cases(draw):
    for negatives in (4, 3, 5, draw.choice([1, 2, 6, 7]), 0, 8):
        x = (3 * draw.sample(range(1, 99), 3))[:8]
        # If four are negative, they are neither one half of the list nor every second number.
        yield {"x": [-x[i] if i < negatives else x[i] for i in (0, 4, 5, 1, 2, 6, 7, 3)]}


def count_cycles(groups):
    """Return the cycles of the program shown in the lab; in a mixed group, both branches run."""
    negatives = (sum(number < 0 for number in group) for group in groups)
    return sum({0: 14, 4: 15}.get(count, 18) for count in negatives)


def outcome(f):
    return count_cycles(f.value)


def right(case):
    return count_cycles([sorted(case.x)[:4], sorted(case.x)[4:]])


returns = (
    "not-two-groups",
    lambda x, case: type(x) in (list, tuple) and len(x) == 2 and {*map(type, x)} <= {list, tuple},
)
side_effects = {
    "not-four-each": lambda f: (s := [*map(len, f.value)]) != [4, 4] and {"sizes": s},
    "different-numbers": lambda f: sorted([*f.value[0], *f.value[1]]) != sorted(f.case.x),
}
mistakes = {"diverges": lambda f: {"one": f.value[0], "two": f.value[1], "best": f.right}}
hints = """
not-two-groups: `groups` returns {what}, but it should return two lists.
    -> Return both lists, separated by a comma.
not-four-each: Your groups have {sizes} numbers, but four lanes take four at a time.
    -> Fill the first group completely. The rest is the second group.
different-numbers: For x = {x}, your groups are {found}: these are not the same eight numbers.
    -> Every number belongs to exactly one group, with its sign.
diverges: For x = {x}, your groups {one} and {two} take {found} cycles, the best ones {best}.
    -> What decides a lane's branch? A group with lanes in both branches takes the cycles of both.
"""
