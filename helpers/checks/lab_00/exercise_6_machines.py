"""Lab 00, exercise 6: why three machines cannot use their GPU."""

answers = "diagnose()"
points = 2
success = "You can read what the driver and torch say about a machine."
section = "What this machine has"
CAUSES = ("no driver", "old driver", "CPU build", "memory in use", "no GPU")
MACHINES = {"A": "CPU build", "B": "memory in use", "C": "old driver"}


def cases(draw):
    return [{"names": ", ".join(MACHINES), "causes": ", ".join(f'"{name}"' for name in CAUSES)}]


def find_wrong(f):
    """Return the values of the hint for the first machine whose cause is wrong."""
    for machine, cause in MACHINES.items():
        if (answer := f.value[machine]) != cause:
            return {"machine": machine, "answer": answer}
    return {}


returns = ("not-a-diagnosis", lambda value, case: {*value} == {*MACHINES})
side_effects = {
    "no-such-cause": lambda f: (x := find_wrong(f)) and x["answer"] not in CAUSES and x,
    "wrong-cause": find_wrong,
}
hints = """
not-a-diagnosis: `diagnose` returns {what} instead of a dictionary with a cause for each of {names}.
    -> Each key is the letter of a machine, and each value a cause from the table, both as strings.
no-such-cause: Machine {machine}: {answer!r} is not one of the causes {causes}.
    -> Copy a cause from the table of the exercise, as a string.
wrong-cause: Machine {machine}: {answer!r} does not fit what it prints.
    -> Which lines would be different with this cause? Read what the driver says, what torch was
    built for, and how much memory is left.
"""
