"""Code that uses internals of Python or the checks is found; ordinary answers are not."""

import importlib
import inspect
import textwrap
import time
from pathlib import Path

import nbformat
import pytest

from course.grading.answers import CellKind, SubmittedCell, merge_answers
from course.grading.internals import uses_of_internals
from course.grading.limits import SandboxLimits
from course.grading.marking import MarkStatus, _describe_internals, grade_submission
from course.grading.session import Session
from course.grading.submissions import Submission
from tools.grade_a_class import LABS

LAB_NUMBERS = sorted(path.stem[:2] for path in LABS.glob("[0-9]*.ipynb"))


@pytest.mark.parametrize(
    "source",
    [
        "import gc",
        "from gc import get_objects as f",
        "import sys\nsys._getframe()",
        "import torch\ntorch.sys.modules['json']",
        "try:\n    1 / 0\nexcept Exception as error:\n    error.__traceback__.tb_frame",
        "f = (lambda: 0).__globals__",
        "__import__('g' + 'c')",
        "exec('import ' + 'gc')",
        "getattr(torch, name)",
        "getattr(torch, '_getframe')",
        "import torch\ntorch.equal = lambda a, b: True",
        "T = torch.Tensor\nT.__eq__ = None",
        "T = torch.Tensor\nT.sum = None",
        "(T := torch.Tensor).sum = None",
        "for T in (int, torch.Tensor):\n    T.sum = None",
        "from torch import Tensor\nTensor.__eq__ = None",
        "def f(x):\n    type(x).device = x",
        "def f(x):\n    x.__class__.device = x",
        "def f(x):\n    T = type(x)\n    T.device = x",
        "def f(T):\n    T.device = property(lambda self: 'cuda:0')\nf(torch.Tensor)",
        "def f(T):\n    T.item = lambda self: 0",
        "setattr(torch, 'equal', f)",
        "class Lying(torch.Tensor):\n    pass",
        "class Number(float):\n    def __eq__(self, other):\n        return True",
        "Lying = type('Lying', (torch.Tensor,), {})",
        "import helpers.checks.trial as t",
        "from helpers import checks",
        "import helpers\nhelpers.checks",
        "check.lab",
        "c = check",
        "import importlib",
        "import ctypes",
        "import threading\nthreading.settrace(f)",
        "open('/proc/self/mem', 'rb')",
        "%timeit __import__('gc')",
        "%%capture\nimport gc",
        "get_ipython().user_ns",
        "from unittest.mock import patch",
        "e = exec\ne('import gc')",
        "list(map(eval, ['1']))",
        "class Reduced:\n    def __reduce__(self):\n        return exec, ('import gc',)",
        "shell = get_ipython()\nshell.ex('import gc')",
        "run = get_ipython().ex\nrun('import gc')",
        "import pickle\npickle.loads(text)",
        "%run script_that_the_cell_before_wrote.py",
        "x = " + "-" * 50_000 + "1",
        "%time\n" * 1_000,
    ],
)
def test_internals_are_found(source):
    assert uses_of_internals(source)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        setattr(self, 'a', 1)\n",
        "check.exercise_1(move_all)",
        "import torch\ntorch.backends.cudnn.benchmark = True",
        "print(type(x).__name__, x.__class__.__name__)",
        "%timeit torch.ones(3)",
        "!nvidia-smi",
        "getattr(net, 'weight')",
        "net.modules()",
        "self.loss = nn.CrossEntropyLoss()\nself.act = lambda x: x",
        "net = make_net()\nnet.fc = nn.Linear(2, 3)\nfor p in net.parameters():\n    p.grad = None",
        "net.weight = nn.Parameter(torch.ones(3))",
        "def broken(:",
    ],
)
def test_ordinary_code_is_not_reported(source):
    assert uses_of_internals(source) == []


@pytest.mark.parametrize("number", LAB_NUMBERS)
def test_no_solution_uses_internals(number):
    (file,) = LABS.glob(f"{number}*.ipynb")
    original, solution = (
        nbformat.read(path, as_version=4) for path in (file, file.parent / "solutions" / file.name)
    )
    cells = merge_answers(original, solution).cells
    used = [uses_of_internals(c.source) for c in cells if c.kind is CellKind.STUDENT]
    assert used and not any(used)


@pytest.mark.parametrize("number", LAB_NUMBERS)
def test_no_right_answer_uses_internals(number):
    if not (Path(__file__).parents[2] / f"helpers/checks/lab_{number}_answers.py").is_file():
        pytest.skip("this lab has no collected answers")
    module = importlib.import_module(f"tests.helpers.checks.lab_{number}_answers")
    for answer in module.answers.collected:
        functions = answer.answer if isinstance(answer.answer, tuple) else (answer.answer,)
        for function in functions:
            if answer.hint is None and (inspect.isfunction(function) or inspect.isclass(function)):
                source = textwrap.dedent(inspect.getsource(function))
                source = source[source.index("def " if inspect.isfunction(function) else "class") :]
                assert uses_of_internals(source) == [], source


def test_a_submission_that_uses_internals_is_marked_for_review(builder, monkeypatch):
    answer = "import gc\n" + builder.answer(1)
    passed = {"passed": True, "hint": None, "message": "", "error": "", "stop": ""}

    def run(session):
        for index, cell in enumerate(session.cells):
            if cell.kind is CellKind.CHECK:
                session.verdicts[cell.exercise] = passed
                session.results[index] = passed | {"outputs": [], "traceback": ""}

    monkeypatch.setattr(Session, "run", run)
    submission = Submission("a", "a", builder.with_answer(1, answer))
    graded = grade_submission(builder.original, submission, SandboxLimits())
    assert graded.points == 0
    assert graded.needs_review
    assert any("internals" in note for note in graded.notes)
    assert {mark.status for mark in graded.marks} == {MarkStatus.TO_REVIEW}


@pytest.mark.parametrize(
    "source",
    [
        "\n" * 100_000 + "x = 1",
        "%time " * 1_000 + "x",
        ("%time " + "x + " * 500 + "x\n") * 200,
        ("getattr(" * 90 + "a" + ", n)" * 90 + "\n") * 40,
        ("a" + "._b" * 500 + "\n") * 40,
    ],
    ids=["blank lines", "nested magics", "long magics", "nested calls", "long chains"],
)
def test_large_cells_are_scanned_in_seconds(source):
    start = time.process_time()
    uses_of_internals(source)
    assert time.process_time() - start < 8


def test_a_submission_with_too_much_code_is_left_for_review():
    cells = [SubmittedCell(CellKind.STUDENT, "x = 1\n" * 10_000, 1)] * 6
    assert "too much code" in _describe_internals(cells)
    assert not _describe_internals(cells[:1])
