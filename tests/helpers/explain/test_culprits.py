"""The explanation names the right variable and line as they appear in the student's code."""

import importlib
from collections import ChainMap
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import helpers.explain as explain_package
import simulated_cuda
from helpers.explain import explain, student_frames
from helpers.explain.mismatch import mismatch_in
from helpers.explain.source import MISSING, is_library

X = "x = torch.ones(3, device=device)\n"
CULPRITS = {
    "the start of a chain of methods": (
        "scores = torch.ones(2, 3, device=device)\nlabels = torch.tensor([0, 2])\n"
        "scores - F.one_hot(labels, 3).float()",
        "labels",
    ),
    "a layer of nn.ModuleDict, by its key": (
        "net = nn.ModuleDict({'a': nn.Linear(3, 2)})\nnet['a'](torch.ones(1, 3, device=device))",
        "net['a'].weight",
    ),
    "the input of a network, not the variable in its forward": (
        "class Net(nn.Module):\n    def forward(self, x):\n        x = torch.flatten(x, 1)\n"
        "        return x + torch.ones(4, device='meta')\n\nnet = Net()\n"
        "images = torch.ones(5, 2, 2)\nwhole = torch.ones(5, 4, device=device)\n"
        "scores = net(images) + whole",
        "images",
    ),
    "the result of a function, by elimination": (
        X + "def load():\n    return torch.ones(3)\n\nx + load()",
        "load()",
    ),
    "an expression after non-ASCII letters": (
        "größe = torch.ones(3, device=device); y = torch.ones(3)\nz = 'äöü', größe + y",
        "y",
    ),
    "a vector next to a CPU scalar that torch accepts": (
        X + "half = torch.tensor(0.5)\ny = torch.ones(3)\ntorch.addcmul(x, half, y)",
        "y",
    ),
}


@pytest.mark.parametrize(("code", "culprit"), CULPRITS.values(), ids=CULPRITS)
def test_explanation_names_culprit_and_line(student, code, culprit):
    explanation = student.explain(code)
    assert (explanation.places[0][0], explanation.line) == (culprit, code.splitlines()[-1])


def test_call_over_several_lines_is_shown_on_one(student):
    code = "net = nn.Linear(3, 2).to(device)\nx = torch.ones(1, 3)\n"
    explanation = student.explain(code + "y = (\n    net(\n        x,\n    )\n    .sum()\n)")
    assert (explanation.places[0][0], explanation.line) == ("x", "y = net(x).sum()")


SETUP = "w = torch.ones(3, device=device)\nb = w\nparts = [torch.ones(3), torch.ones(3)]\n"
COMPREHENSIONS = {
    "[w * b for b in parts]": "b",
    "[w * b for b in (p for p in parts)]": "b",
    "rows = [{'x': parts[0]}]\n[w * r['x'] for r in rows]": "r['x']",
    "net = nn.Sequential(nn.Linear(3, 2))\n[layer(w) for layer in net]": "layer",
}


@pytest.mark.parametrize(("code", "culprit"), COMPREHENSIONS.items())
def test_variable_of_a_comprehension_is_found_without_its_frame(student, code, culprit):
    """Python 3.12 and later have no frame for it."""
    frame = student_frames(student.error_of(SETUP + code).__traceback__)[0]
    gone = dict.fromkeys(("b", "r", "layer"), MISSING)
    frame = replace(frame, names=ChainMap(gone, *frame.names.maps[-2:]))
    assert mismatch_in(frame, ("meta", "cpu")).culprits[0].text == culprit


def test_box_lists_both_sides_with_the_culprit_first(student):
    code = "def f(net, x):\n    return net(x)\n\nf(nn.Linear(3, 2).to(device), load())"
    names = student.names() | {"load": lambda: torch.ones(1, 3)}
    explanation = student.explain(code, names)
    assert explanation.places == (("x", "is on cpu"), ("net.weight", "is on meta"))
    assert explanation.where == "line 2, in `f`"


def test_box_names_the_students_file(tmp_path, monkeypatch):
    text = "import torch\n\n\ndef shift(x):\n    return x + torch.ones(3)\n"
    (tmp_path / "shifting.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    shifting = importlib.import_module("shifting")
    with pytest.raises(RuntimeError) as caught:
        shifting.shift(torch.ones(3, device="meta"))
    assert explain(caught.value).where == "line 5 of shifting.py, in `shift`"


@pytest.mark.parametrize("folder", ["helpers_of_mine", "simulated_cuda_x", "torch_models"])
def test_a_folder_named_like_a_library_belongs_to_the_student(folder):
    course = Path(explain_package.__file__).parents[2]
    assert not is_library(str(course / folder / "x.py"))
    assert is_library(str(course / "helpers" / "devices.py"))


def test_explaining_an_error_runs_no_student_code(student):
    names = student.names() | {"calls": []}
    code = (
        "class Batch:\n    @property\n    def x(self):\n        calls.append(1)\n"
        "        return torch.ones(1, 3)\n\n"
        "net = nn.Linear(3, 2).to(device)\nbatch = Batch()\nnet(batch.x)"
    )
    explanation = student.explain(code, names)
    assert (names["calls"], explanation.places[0][0]) == ([1], "batch.x")


def test_an_unknown_cause_is_reported_as_unknown(student):
    code = X + "def load():\n    return torch.ones(3)\n\ntorch.cat([x, load(), load()])"
    box = repr(student.explain(code))
    assert "cannot tell which of your variables" in box
    assert "`where(x)`" in box


def test_code_without_source_is_still_reported_as_a_device_error():
    with pytest.raises(RuntimeError) as caught:
        exec("torch.ones(3, device='meta') + torch.ones(3)", {"torch": torch})
    assert "cannot tell which of your variables" in repr(explain(caught.value))


@pytest.mark.skipif(torch.cuda.is_available(), reason="the numbers are for simulated GPUs")
@pytest.mark.parametrize(
    ("code", "places", "text"),
    [
        ("torch.ones(3).to('cuda:3')", (), "GPUs are numbered from 0"),
        (
            "net = nn.Linear(3, 2).to('cuda:1')\nx = torch.ones(1, 3).cuda()\nnet(x)",
            (("x", "is on cuda:0"), ("net.weight", "is on cuda:1")),
            "x = x.to('cuda:1')",
        ),
        (
            "class Meter: pass\nmeter = Meter()\nmeter.total = torch.zeros(3)\n"
            "x = torch.ones(3, device=device)\nmeter.total += x",
            (("meter.total", "is on cpu"), ("x", "is on cuda:0")),
            "meter.total = meter.total.to(device)",
        ),
    ],
)
def test_box_is_about_the_gpus_of_the_machine(student, code, places, text):
    with simulated_cuda.simulated(devices=2):
        explanation = student.explain(code, student.names("cuda"))
    assert explanation.places == places
    assert text in repr(explanation)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_box_says_how_to_choose_the_device(student):
    advice = student.explain("net = nn.Linear(2, 1).cuda()").advice[0]
    assert "`device = 'cuda' if torch.cuda.is_available() else 'cpu'`" in advice
