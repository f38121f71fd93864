"""Lab 02, exercise 2: one move for each of seven messages."""

from helpers.language import translate

answers = "moves()"
points = 3
success = "For every message you know which tensor moves, and where to."
section = "The table to keep"
# The code of each line and the devices of its tensors, which have to be on the same device.
LINES = {
    "A": ("loss = F.cross_entropy(scores, labels)", {"scores": "cuda:0", "labels": "cpu"}),
    "B": ("scores = images @ weights", {"images": "cpu", "weights": "cuda:0"}),
    "C": ("total = running + batch_mean", {"running": "cuda:1", "batch_mean": "cuda:0"}),
    "D": ("picked = table[rows]", {"table": "cpu", "rows": "cuda:0"}),
    "E": ("vectors = F.embedding(words, table)", {"words": "cpu", "table": "cuda:0"}),
    "F": ("edges = F.conv2d(images, kernel)", {"images": "cpu", "kernel": "cuda:0"}),
    "G": ("array = scores.numpy()", {"scores": "cuda:0"}),
}
DEVICES = ("cpu", "cuda:0", "cuda:1")


def cases(draw):
    return [{"names": ", ".join(LINES)}]


def find_wrong(f):
    """Return the values of the hint for the first line whose move is wrong."""
    for line, (code, devices) in LINES.items():
        name, device = f.value[line]
        after = {*(devices | {name: str(device)}).values()}
        if after != {"cpu" if line in "DG" else "cuda:0"}:
            goal = translate("the result should be on `cuda:0`")
            goal = translate("the table should stay on the CPU") if line == "D" else goal
            goal = translate("an array is always in the CPU's memory") if line == "G" else goal
            move = {"line": line, "name": name, "device": str(device), "code": code, "goal": goal}
            return move | {"names": [*devices], "mixes": len(after) > 1 or line == "G"}
    return {}


returns = ("not-a-plan", lambda value, case: {*value} == {*LINES})
side_effects = {
    "no-such-name": lambda f: (x := find_wrong(f)) and x["name"] not in x["names"] and x,
    "no-such-device": lambda f: (x := find_wrong(f)) and x["device"] not in DEVICES and x,
    "still-mixes": lambda f: (x := find_wrong(f)) and x["mixes"] and x,
    "wrong-goal": find_wrong,
}
hints = """
not-a-plan: `moves` returns {what} instead of a dictionary of pairs for the lines {names}.
    -> Each key is the letter of a line; each value is a name from that line and a device, such as
    `("x", "cuda:0")`.
no-such-name: Line {line}: {name!r} is not the name of a tensor in `{code}`.
    -> Use the name in the code, not in the message: `mat2` and `target` are PyTorch's own names.
no-such-device: Line {line}: {device!r} is not one of the devices `cpu`, `cuda:0` and `cuda:1`.
    -> Write a device as the messages write it.
still-mixes: Line {line}: with `{name}` on {device}, the line still mixes devices.
    -> Write down the device of every tensor in the line. Which one has to move so that all agree?
wrong-goal: Line {line} runs after your move, but {goal}.
    -> There are two ways to end with everything on one device. Which one does the exercise ask for?
"""
