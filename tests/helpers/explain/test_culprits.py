"""The explanation names the right variable and line as they appear in the student's code."""

import importlib
from pathlib import Path

import pytest
import torch

import helpers.explain as explain_package
from helpers.explain import explain
from helpers.explain.source import is_library

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x):
        x = torch.flatten(x, 1)
        h = F.relu(self.fc1(x))
        return self.fc2(h)

"""
TRAIN = """\
def train(net, loader):
    loss_fn = nn.CrossEntropyLoss()
    for X, y in loader:
        loss = loss_fn(net(X), y)

data = [(torch.ones(2, 3), torch.tensor([0, 1]))]
train(nn.Linear(3, 2).to(device), data)
"""
# name, code, culprit, line shown in the box
CULPRITS = [
    ("a variable", "x = torch.ones(3, device=device)\ny = torch.ones(3)\nx + y", "y", "x + y"),
    (
        "an argument by keyword",
        "x = torch.ones(3, device=device)\nlowest = torch.ones(3)\nx.clamp(min=lowest)",
        "lowest",
        "x.clamp(min=lowest)",
    ),
    (
        "an element of a list",
        "parts = [torch.ones(3, device=device), torch.ones(3)]\ntorch.cat(parts)",
        "parts[1]",
        "torch.cat(parts)",
    ),
    (
        "an entry of a dictionary",
        "net = nn.Linear(3, 2).to(device)\nbatch = {'pixels': torch.ones(1, 3)}\n"
        "net(batch['pixels'])",
        "batch['pixels']",
        "net(batch['pixels'])",
    ),
    (
        "an attribute",
        "class Box: pass\nbox = Box()\nbox.x = torch.ones(3)\ntorch.ones(3, device=device) + box.x",
        "box.x",
        "torch.ones(3, device=device) + box.x",
    ),
    (
        "a tensor without a name",
        "x = torch.ones(3, device=device)\nx + 0.1 * torch.randn(x.shape)",
        "torch.randn(x.shape)",
        "x + 0.1 * torch.randn(x.shape)",
    ),
    (
        "the start of a chain of methods",
        "scores = torch.ones(2, 3, device=device)\nlabels = torch.tensor([0, 2])\n"
        "scores - F.one_hot(labels, 3).float()",
        "labels",
        "scores - F.one_hot(labels, 3).float()",
    ),
    (
        "the input of a whole network, not the variable in its forward",
        NET + "net = Net().to(device)\nimages = torch.ones(5, 2, 2)\nscores = net(images)",
        "images",
        "scores = net(images)",
    ),
    (
        "a layer that was not moved",
        NET + "net = Net()\nnet.fc1.to(device)\nnet(torch.ones(5, 2, 2, device=device))",
        "net.fc2.weight",
        "net(torch.ones(5, 2, 2, device=device))",
    ),
    (
        "a layer of nn.Sequential, by its index",
        "net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))\nnet[0].to(device)\n"
        "net(torch.ones(1, 3, device=device))",
        "net[1].weight",
        "net(torch.ones(1, 3, device=device))",
    ),
    (
        "a layer of nn.ModuleDict, by its key",
        "net = nn.ModuleDict({'a': nn.Linear(3, 2)})\nnet['a'](torch.ones(1, 3, device=device))",
        "net['a'].weight",
        "net['a'](torch.ones(1, 3, device=device))",
    ),
    (
        "a tensor created in forward",
        "class Shift(nn.Module):\n    def forward(self, x):\n        shift = torch.ones(3)\n"
        "        return x + shift\nnet = Shift()\nnet(torch.ones(2, 3, device=device))",
        "shift",
        "return x + shift",
    ),
    (
        "a tensor created in a method of the network",
        "class Net(nn.Module):\n    def begin(self):\n        return torch.zeros(3)\n\n"
        "    def forward(self, x):\n        h = self.begin()\n        return x + h\n"
        "net = Net()\nnet(torch.ones(2, 3, device=device))",
        "h",
        "return x + h",
    ),
    ("a batch in a loop in a function", TRAIN, "X", "loss = loss_fn(net(X), y)"),
    (
        "an argument passed through two functions",
        "def inner(a, b):\n    return a + b\n\ndef outer(p, q):\n    return inner(p, q)\n\n"
        "x = torch.ones(3, device=device)\ny = torch.ones(3)\nouter(x, y)",
        "y",
        "outer(x, y)",
    ),
    (
        "the result of a function, by elimination",
        "def load():\n    return torch.ones(3)\n\nx = torch.ones(3, device=device)\nx + load()",
        "load()",
        "x + load()",
    ),
    (
        "a variable of the surrounding function",
        "def outer():\n    scale = torch.ones(3)\n    def inner(x):\n        return x * scale\n"
        "    return inner(torch.ones(3, device=device))\n\nouter()",
        "scale",
        "return x * scale",
    ),
    (
        "the variable of a comprehension",
        "w = torch.ones(3, device=device)\ny = [w * b for b in [torch.ones(3)]]",
        "b",
        "y = [w * b for b in [torch.ones(3)]]",
    ),
    (
        "the variable of a generator",
        "w = torch.ones(3, device=device)\ny = sum(w * b for b in [torch.ones(3)])",
        "b",
        "y = sum(w * b for b in [torch.ones(3)])",
    ),
    (
        "a call over several lines",
        "net = nn.Linear(3, 2).to(device)\nx = torch.ones(1, 3)\ny = (\n    net(\n        x,\n"
        "    )\n    .sum()\n)",
        "x",
        "y = net(x).sum()",
    ),
    (
        "an expression after non-ASCII letters",
        "größe = torch.ones(3, device=device); y = torch.ones(3)\nz = 'äöü', größe + y",
        "y",
        "z = 'äöü', größe + y",
    ),
    (
        "a vector next to a CPU scalar that torch accepts",
        "x = torch.ones(3, device=device)\nhalf = torch.tensor(0.5)\ny = torch.ones(3)\n"
        "torch.addcmul(x, half, y)",
        "y",
        "torch.addcmul(x, half, y)",
    ),
    (
        "the weights of a loss",
        "loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
        "loss(torch.zeros(2, 3, device=device), torch.tensor([0, 2], device=device))",
        "loss.weight",
        "loss(torch.zeros(2, 3, device=device), torch.tensor([0, 2], device=device))",
    ),
    (
        "a tensor moved to the wrong device by name",
        "device = 'cpu'\nnet = nn.Linear(3, 2).to('meta')\nx = torch.ones(1, 3)\nnet(x.to(device))",
        "x.to(device)",
        "net(x.to(device))",
    ),
]


@pytest.mark.parametrize(
    ("code", "culprit", "line"), [p[1:] for p in CULPRITS], ids=[p[0] for p in CULPRITS]
)
def test_explanation_names_culprit_and_line(student, code, culprit, line):
    explanation = student.explain(code)
    assert (explanation.culprit, explanation.line) == (culprit, line)


def test_lists_both_sides_with_the_culprit_first(student):
    explanation = student.explain("net = nn.Linear(3, 2).to(device)\nx = torch.ones(1, 3)\nnet(x)")
    assert explanation.places == (("x", "is on cpu"), ("net.weight", "is on meta"))


def test_names_the_line_number_and_the_function(student):
    explanation = student.explain(
        "def f(x):\n    y = torch.ones(3)\n    return x + y\n\nf(torch.ones(3, device=device))"
    )
    assert explanation.where == "line 3, in `f`"


def test_names_the_students_file(tmp_path, monkeypatch):
    (tmp_path / "shifting.py").write_text(
        "import torch\n\n\ndef shift(x):\n    return x + torch.ones(3)\n"
    )
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
    assert (names["calls"], explanation.culprit) == ([1], "batch.x")


def test_an_unknown_cause_is_reported_as_unknown(student):
    code = (
        "def load():\n    return torch.ones(3)\n\nx = torch.ones(3, device=device)\n"
        "torch.cat([x, load(), load()])"
    )
    explanation = student.explain(code)
    assert "cannot tell which of your variables" in repr(explanation)
    assert "`where(x)`" in repr(explanation)


def test_code_without_source_is_still_reported_as_a_device_error():
    code = "torch.ones(3, device='meta') + torch.ones(3)"
    with pytest.raises(RuntimeError) as caught:
        exec(compile(code, "<nowhere>", "exec"), {"torch": torch})
    assert "cannot tell which of your variables" in repr(explain(caught.value))
