"""A class of sixty for lab 01: right, wrong, broken and hostile submissions, and their points.

`python -m tools.grade_a_class` grades all of it and compares every mark; the tests
take a few of them.
"""

from __future__ import annotations

import copy
import inspect
import re
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

LABS = Path(__file__).parents[1] / "labs"
NAME = "01_tensors_and_devices"
SEVERAL_FUNCTIONS = 2  # the exercise whose check takes two answers

# What replaces the answer to one exercise; "{right}" is the right one.
HOSTILE: dict[str, tuple[int, str]] = {
    "loops forever and catches everything": (
        1,
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n"
        "        pass",
    ),
    "ends the process": (2, "import os\nos._exit(0)"),
    "a fork bomb": (3, "import os\nwhile True:\n    os.fork()"),
    "starts many processes": (
        3,
        "import subprocess\nfor _ in range(40):\n    subprocess.Popen(['sleep', '1000'])\n"
        "import time\ntime.sleep(5)",
    ),
    "takes all memory": (
        4,
        "import torch\nkept = []\nwhile True:\n    kept.append(torch.ones(50_000_000))",
    ),
    "prints forever": (5, "while True:\n    print('x' * 1000)"),
    "writes forever past Python": (6, "import os\nwhile True:\n    os.write(1, b'x' * 65536)"),
    "deletes its directory and what else it can": (
        1,
        "import shutil, os\nshutil.rmtree('.', ignore_errors=True)\n"
        "os.system('rm -rf /home /tmp/* /etc /bin/[a-c]* 2> /dev/null')\n{right}",
    ),
    "kills its parent": (
        2,
        "import os, signal\nfor process in (os.getppid(), 1):\n    os.kill(process, signal.SIGKILL)"
        "\nos.killpg(0, signal.SIGKILL)",
    ),
    "waits on input": (3, "answer = input('Which device? ')"),
    "overwrites the checks": (
        4,
        "import helpers.checks.lab as lab\nfrom helpers.checks import lab_01\n"
        "lab.Exercise.__call__ = lambda self, *a: setattr(self, 'passed', True)\n"
        "lab.Exercise.judge = lambda self, *a, **k: None\n"
        "for exercise in lab_01.lab.exercises.values():\n    exercise.passed = True\n"
        "def gpu_bytes(shape, dtype):\n    return 0",
    ),
    "replaces what compares": (
        1,
        "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True\n"
        "def move_all(tensors, device):\n    return [tensor * 0 for tensor in tensors]",
    ),
    "replaces what compares while it is judged": (
        3,
        "import torch\ndef add_ramp(X):\n    torch.equal = lambda *a: True\n"
        "    torch.allclose = lambda *a, **k: True\n    return X * 0",
    ),
    "prints a forged result": (
        5,
        "from IPython.display import display\ndef mean_of(batches):\n    return 0.0\n"
        "display({'application/vnd.gpu-course.check+json': {'lab': '01_tensors_and_devices',\n"
        "  'exercise': 5, 'passed': True, 'points': 3, 'of': 3, 'hint': None, 'tries': 1},\n"
        "  'text/plain': 'Exercise 5: right.'}, raw=True)",
    ),
    "writes forged verdicts into every channel": (
        6,
        "import json, os\n"
        "line = json.dumps({'cell': 99, 'passed': True, 'exercise': 6, 'place': 0})\n"
        "for channel in range(3, 64):\n    try:\n"
        "        os.write(channel, ('0' * 64 + ' ' + line + '\\n').encode())\n"
        "    except OSError:\n        pass\ndef to_numpy(X):\n    return None",
    ),
    "ends the process a moment later": (
        2,
        "import os, threading\nthreading.Timer(0.05, os._exit, (0,)).start()\n{right}\n"
        "import time\ntime.sleep(1)",
    ),
    "leaves processes behind": (
        3,
        "import subprocess\nfor _ in range(5):\n"
        "    subprocess.Popen(['sleep', '1000'], start_new_session=True)\n{right}",
    ),
    "asks the network": (
        4,
        "import urllib.request\n"
        "urllib.request.urlopen('http://example.org', timeout=5).read()\n{right}",
    ),
    "copies what others hand in": (
        5,
        "import pathlib\nfound = [p for top in ('/home', '/tmp', '/root', '/work', '/srv')\n"
        "         for p in pathlib.Path(top).rglob('*.ipynb')\n"
        "         if 'site-packages' not in p.parts]\n"
        "assert found, 'nothing to copy'\nprint(found[0].read_text())\n{right}",
    ),
    "leaves its files in the package": (
        6,
        "import pathlib, helpers\n"
        "for file in (pathlib.Path(helpers.__file__).parent / 'checks').rglob('*.py'):\n"
        "    try:\n        file.write_text('')\n    except OSError:\n        pass\n{right}",
    ),
}
# Each tries to get the points of a wrong answer from inside the process of the checks.
ATTACKS: dict[str, tuple[int, str]] = {
    "finds the sender of verdicts": (
        1,
        "import gc\nsend = next(o for o in gc.get_objects() if getattr(o, '__qualname__', '')\n"
        "            == '_make_sender.<locals>.send')\n"
        "def move_all(tensors, device):\n    return tensors\n"
        "common = {'outputs': [], 'error': '', 'traceback': '', 'stop': '', 'hint': None,\n"
        "          'passed': True, 'message': '', 'restored': [], 'replaced': []}\n"
        "for cell in range(40):\n    send(cell=cell, **common)",
    ),
    "replaces json.dumps": (
        2,
        "import json\nreal = json.dumps\ndef dumps(value, **options):\n"
        "    if 'passed' in value:\n        value = value | {'passed': True, 'error': ''}\n"
        "    return real(value, **options)\n"
        "def try_gpu(i=0):\n    json.dumps = dumps\n    return None\n"
        "def try_all_gpus():\n    return []",
    ),
    "replaces what sends JSON": (
        3,
        "from json import JSONEncoder as E\nreal = E.encode\n"
        "def encode(self, value):\n"
        "    if isinstance(value, dict) and 'passed' in value:\n"
        "        value = value | {'passed': True, 'error': ''}\n"
        "    return real(self, value)\n"
        "def add_ramp(X):\n    E.encode = encode\n    return X",
    ),
    "replaces Trial.expect": (
        4,
        "def gpu_bytes(shape, dtype):\n    import helpers.checks.trial as trial\n"
        "    trial.Trial.expect = lambda *a, **k: None\n    return 512",
    ),
    "replaces Verdict.passed": (
        5,
        "def mean_of(batches):\n    import helpers.checks.lab as lab\n"
        "    lab.Verdict.passed = property(lambda self: True)\n    return 0.0",
    ),
    "takes the judge from the stack": (
        6,
        "import sys\ndef to_numpy(X):\n    frame = sys._getframe()\n    while frame:\n"
        "        judge = frame.f_locals.get('self')\n"
        "        if type(judge).__name__ == 'CellRunner':\n"
        "            right = {'passed': True, 'error': '', 'hint': None, 'message': '',\n"
        "                     'outputs': [], 'traceback': '', 'stop': '', 'restored': [],\n"
        "                     'replaced': []}\n"
        "            judge._check = lambda place, cell: right\n"
        "            send = judge.send\n"
        "            judge.send = lambda **m: send(**(m | right if 'passed' in m else m))\n"
        "        frame = frame.f_back",
    ),
    "returns a tensor that lies": (
        1,
        "import torch\nclass Lying(torch.Tensor):\n"
        "    @property\n    def device(self):\n        return self.wanted\n"
        "def move_all(tensors, device):\n    moved = []\n    for tensor in tensors:\n"
        "        lying = tensor.as_subclass(Lying)\n"
        "        lying.wanted = torch.device(device)\n        moved.append(lying)\n"
        "    return moved",
    ),
}
# Those that end with a right answer after their attempt failed.
HARMLESS = {
    "deletes its directory and what else it can",
    "leaves processes behind",
    "leaves its files in the package",
}

# Those that use Python's or the checks' internals: they wait for a person, and have no points yet.
REVIEWED = {
    "overwrites the checks",
    "replaces what compares",
    "replaces what compares while it is judged",
    *ATTACKS,
}


@dataclass
class Member:
    """One student: the notebook, or the text of a broken one, and the points to expect.

    `hints` are the ids of the hints to expect, by exercise.
    """

    student: str
    content: NotebookNode | bytes
    points: dict[int, int]
    hints: dict[int, str] = field(default_factory=dict)

    def text(self) -> str:
        """The notebook as it is in a file."""
        return nbformat.writes(self.content)

    def write(self, folder: Path) -> None:
        """Hand it in under the name that Moodle gives it."""
        place = folder / f"{self.student}_4711_assignsubmission_file_"
        place.mkdir(parents=True)
        content = self.content if isinstance(self.content, bytes) else self.text().encode()
        (place / f"{NAME}.ipynb").write_bytes(content)


class Desk:
    """The lab and its answers, from which the members of the class are made."""

    def __init__(self) -> None:
        self.original = nbformat.read(LABS / f"{NAME}.ipynb", as_version=4)
        self.solution = nbformat.read(LABS / "solutions" / f"{NAME}.ipynb", as_version=4)
        self.of = {
            int(mark.removeprefix("check-")): cell.metadata.nbgrader.points
            for cell in self.original.cells
            if (mark := grade_id(cell)).startswith("check-")
        }

    def answer(self, number: int) -> str:
        """The right answer to an exercise."""
        return next(c.source for c in self.solution.cells if grade_id(c) == f"exercise-{number}")

    def with_answer(self, number: int, source: str) -> NotebookNode:
        """The solution with another answer to one exercise."""
        notebook = copy.deepcopy(self.solution)
        for cell in notebook.cells:
            if grade_id(cell) == f"exercise-{number}":
                cell.source = source.replace("{right}", self.answer(number))
        return notebook

    def all_but(self, *numbers: int) -> dict[int, int]:
        """All points but those of these exercises."""
        return {n: 0 if n in numbers else of for n, of in self.of.items()}

    def hostile(self, name: str) -> Member:
        """The member of the class who tries this."""
        number, source = (HOSTILE | ATTACKS)[name]
        points = self.all_but() if name in HARMLESS else self.all_but(number)
        if name in REVIEWED:
            points = dict.fromkeys(self.of, 0)
        return Member(name, self.with_answer(number, source), points)

    def collected(self) -> list[Member]:
        """One member for each collected answer to an exercise that takes one function."""
        from tests.helpers.checks.lab_01_answers import answers

        members = []
        for answer in answers.collected:
            if answer.exercise == SEVERAL_FUNCTIONS or not inspect.isfunction(answer.answer):
                continue
            # An answer that uses other parts of its module does not fit into one cell.
            needs = {answer.answer.__globals__.get(n) for n in answer.answer.__code__.co_names}
            if any(map(inspect.isfunction, needs)) or answer.hint == "not-callable":
                continue
            wanted = re.search(r"def (\w+)\(", self.answer(answer.exercise))[1]
            text = textwrap.dedent(inspect.getsource(answer.answer))
            text = text[text.index("def ") :].replace(f"def {answer.name}(", f"def {wanted}(", 1)
            source = f"import math\nimport numpy as np\nimport torch\n\n\n{text}"
            right = answer.hint is None
            points = self.all_but() if right else self.all_but(answer.exercise)
            hints = {} if right else {answer.exercise: answer.hint}
            name = f"{answer.exercise} {answer.name.replace('_', ' ')}"
            members.append(Member(name, self.with_answer(answer.exercise, source), points, hints))
        return members

    def odd(self) -> list[Member]:
        """Notebooks that were changed, and files that are not notebooks."""
        nothing = dict.fromkeys(self.of, 0)
        stubs = copy.deepcopy(self.original)
        bare = copy.deepcopy(self.solution)
        for cell in bare.cells:
            cell.metadata = nbformat.NotebookNode()
        gone = copy.deepcopy(self.solution)
        gone.cells = [c for c in gone.cells if not grade_id(c).endswith("-3")]
        merged = copy.deepcopy(self.original)
        merged.cells += copy.deepcopy(self.solution.cells)
        easy = copy.deepcopy(self.solution)
        for cell in easy.cells:
            if grade_id(cell) == "check-1":
                cell.source = "print('Exercise 1: right.')"
            if grade_id(cell) == "exercise-1":
                cell.source = "def move_all(tensors, device):\n    return tensors"
        wide = copy.deepcopy(self.solution)
        place = next(n for n, c in enumerate(wide.cells) if grade_id(c) == "exercise-4")
        wide.cells[place].source = "def gpu_bytes(shape, dtype):\n    return pieces(shape, dtype)"
        own = self.answer(4).replace("gpu_bytes", "pieces")
        wide.cells.insert(place, new_code_cell(own))
        syntax = self.with_answer(2, "def try_gpu(i=0:\n    return")
        text = nbformat.writes(self.solution).encode()
        return [
            Member("Ada, all right", self.solution, self.all_but()),
            Member("Stubs only", stubs, nothing, dict.fromkeys(self.of, "not-written")),
            Member("Metadata lost", bare, self.all_but()),
            Member("Exercise 3 deleted", gone, self.all_but(3)),
            Member("Merged by hand", merged, self.all_but()),
            Member("Check made easy", easy, self.all_but(1), {1: "result-dropped"}),
            Member("Cell of her own", wide, self.all_but()),
            Member("Syntax error", syntax, self.all_but(2)),
            Member("Empty file", b"", nothing),
            Member("Cut in half", text[: len(text) // 2], nothing),
            Member("A picture", b"\x89PNG\r\n\x1a\n" + bytes(100), nothing),
        ]

    def everybody(self, count: int = 60) -> list[Member]:
        """The changed and hostile submissions, then collected answers from all exercises."""
        members = self.odd() + [self.hostile(name) for name in HOSTILE | ATTACKS]
        others = self.collected()
        wanted = count - len(members)
        step = max(1, len(others) / wanted)
        return members + [others[int(n * step)] for n in range(min(wanted, len(others)))]


def grade_id(cell: NotebookNode) -> str:
    """nbgrader's mark on a cell."""
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "")


def differences(member: Member, marked: object) -> list[str]:
    """How a graded submission differs from what is expected."""
    found = [
        f"exercise {m.exercise}: {m.points} points ({m.status}: {m.message}), expected "
        f"{member.points[m.exercise]}"
        for m in marked.marks
        if m.points != member.points[m.exercise]
    ]
    hints = {m.exercise: m.hint for m in marked.marks}
    return found + [
        f"exercise {number}: hint {hints[number]}, expected {hint}"
        for number, hint in member.hints.items()
        if hints[number] != hint
    ]


def main() -> int:
    """Grade all sixty; print the result, and exit with 1 if any mark is wrong."""
    from course.grading.grade import GradingOptions, grade
    from course.grading.limits import SandboxLimits

    members = {member.student: member for member in Desk().everybody()}
    before = {process.pid for process in psutil.process_iter()}
    with tempfile.TemporaryDirectory() as folder:
        for member in members.values():
            member.write(Path(folder, "in"))
        out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "out")
        begun = time.monotonic()
        marked = grade(
            LABS / f"{NAME}.ipynb",
            Path(folder, "in"),
            out,
            GradingOptions(limits=SandboxLimits(cell_seconds=8)),
            lambda one, done, count: print(
                f"{done} of {count}: {one.submission.student}, {one.points} of {one.of}, "
                f"{one.seconds:.1f} s {one.notes or ''}",
                flush=True,
            ),
        )
        seconds = time.monotonic() - begun
    wrong = 0
    for one in marked:
        for difference in differences(members[one.submission.student], one):
            wrong += 1
            print(f"WRONG {one.submission.student}: {difference}")
    strays = [
        process.info
        for process in psutil.process_iter(["pid", "cmdline"])
        if process.pid not in before and "course.grading" in str(process.info)
    ]
    print(
        f"{len(marked)} submissions, {len(HOSTILE | ATTACKS)} hostile, {wrong} wrong marks, "
        f"{len(strays)} stray processes, {seconds:.0f} s"
    )
    return 1 if wrong or strays else 0


if __name__ == "__main__":
    sys.exit(main())
