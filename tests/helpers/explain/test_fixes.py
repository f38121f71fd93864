"""The fix in an explanation works and looks like code that a student would write."""

import pytest

MISMATCH = "x = torch.ones(3, device=device)\ny = torch.ones(3)\n"
NETWORK = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        ASSIGNMENT  # later\n\n    def forward(self, x):\n        RESULT\n"
    "        return x\n\nnet = Net().to(device)\nnet(torch.ones(2, 3, device=device))"
)


def network(assignment, result):
    return NETWORK.replace("ASSIGNMENT", assignment).replace("RESULT", result)


ADDED = {
    "a line before": (MISMATCH + "z = x + y", "y = y.to(device)"),
    "a network and its input": (
        "net = nn.Linear(3, 2)\nx = torch.ones(1, 3)\n"
        "y = torch.ones(1, 2, device=device)\nz = y + net(x)",
        "net.to(device)\nx = x.to(device)",
    ),
    "a list": (
        "parts = [torch.ones(3, device=device), torch.ones(3)]\ntorch.cat(parts)",
        "parts = [item.to(device) for item in parts]",
    ),
    "keyword arguments": (
        "def add(a, b):\n    return a + b\n\n"
        "batch = {'a': torch.ones(3, device=device), 'b': torch.ones(3)}\nadd(**batch)",
        "batch = {key: value.to(device) for key, value in batch.items()}",
    ),
    "in a function, the device of its argument": (
        "def shift(x):\n    y = load()\n    return x + y\n\ndef load():\n"
        "    return torch.ones(3)\n\nshift(torch.ones(3, device=device))",
        "y = y.to(x.device)",
    ),
    "a lost dtype is not a move": (MISMATCH + "y.to(torch.float16)\nz = x + y", "y = y.to(device)"),
    "in an f-string": (MISMATCH + "text = f'{(x + y).shape}'", "y = y.to(device)"),
}
REWRITTEN = {
    "a factory": (
        MISMATCH + "z = x + torch.tensor([1.0, 2.0, 3.0])",
        "z = x + torch.tensor([1.0, 2.0, 3.0], device=device)",
    ),
    "a factory over several lines": (
        MISMATCH + "z = x + torch.ones(\n    3,\n)",
        "z = x + torch.ones(3, device=device)",
    ),
    "in an elif": (
        MISMATCH + "if x is y:\n    pass\nelif (x + y) is not None:\n    pass",
        "elif (x + y.to(device)) is not None:",
    ),
    "the variable of a comprehension": (
        MISMATCH + "z = [x + b for b in [y]]",
        "z = [x + b.to(device) for b in [y]]",
    ),
    "an argument of a lambda": (
        MISMATCH + "f = lambda v: x + v\nz = f(y)",
        "f = lambda v: x + v.to(x.device)",
    ),
    "a variable from outside the function": (
        "mean = torch.ones(3)\ndef center(x):\n    return x - mean\n\n"
        "center(torch.ones(3, device=device))",
        "return x - mean.to(x.device)",
    ),
    "a trained leaf tensor": (
        "w = torch.ones(3, requires_grad=True)\nz = w * torch.ones(3, device=device)",
        "w = torch.ones(3, requires_grad=True, device=device)",
    ),
    "a move to the wrong device": (
        "x = torch.ones(3)\nz = torch.ones(3, device='meta') + x.to('cpu')",
        "z = torch.ones(3, device='meta') + x.to(device)",
    ),
    "a move whose result was dropped": (MISMATCH + "y.to(device)\nz = x + y", "y = y.to(device)"),
    "a tensor that a function creates from a size": (
        "def f(x):\n    y = 2 * torch.arange(x.shape[0])\n"
        "    return x + y\n\nf(torch.ones(3, device=device))",
        "y = 2 * torch.arange(x.shape[0], device=x.device)",
    ),
    "a plain attribute of a network": (
        network("self.scale = torch.ones(3)", "x = x * self.scale"),
        "self.register_buffer('scale', torch.ones(3))  # later",
    ),
    "a trained tensor in a plain attribute": (
        network("self.w = torch.ones(3, requires_grad=True)", "x = x * self.w"),
        "self.w = nn.Parameter(torch.ones(3, requires_grad=True))  # later",
    ),
    "layers in a list": (
        network("self.layers = [nn.Linear(3, 3)]", "for layer in self.layers: x = layer(x)"),
        "self.layers = nn.ModuleList([nn.Linear(3, 3)])  # later",
    ),
}
# A copy of a meta tensor to the CPU fails.
COPIED = {
    "np.asarray(torch.ones(3, device=device))": "np.asarray(torch.ones(3, device=device).cpu())",
    "losses = [torch.ones((), device=device)]\nnp.array(losses)": (
        "np.array([item.cpu() for item in losses])"
    ),
    "net = nn.Linear(3, 2).to(device)\nx = torch.ones(3, device=device)\nnet(x).numpy()": (
        "net(x).detach().cpu().numpy()"
    ),
    "def predict():\n    return torch.ones(3, device=device)\n\npredict().numpy()": (
        "predict().cpu().numpy()"
    ),
    "x = torch.ones(2, 3, 1, device=device)\nlengths = torch.tensor([3, 2]).to(device)\n"
    "nn.utils.rnn.pack_padded_sequence(x, lengths)": (
        "nn.utils.rnn.pack_padded_sequence(x, lengths.cpu())"
    ),
}


@pytest.mark.parametrize(("code", "lines"), ADDED.values(), ids=ADDED)
def test_fix_adds_lines(student, code, lines):
    fix = student.explain(code).fix
    assert fix.shown[0][1] == lines
    assert student.error_of(fix.text) is None


@pytest.mark.parametrize(("code", "line"), REWRITTEN.values(), ids=REWRITTEN)
def test_fix_rewrites_line(student, code, line):
    fix = student.explain(code).fix
    assert fix.shown[-1][1] == line
    assert student.error_of(fix.text) is None


@pytest.mark.parametrize(("code", "line"), COPIED.items())
def test_fix_copies_to_the_cpu_what_must_be_there(student, code, line):
    assert student.explain(code).fix.shown[-1][1] == line


def test_a_fix_keeps_tab_indentation(student):
    code = (
        "def f(x):\n\tif True:\n\t\ty = g()\n\t\treturn x + y\n\n"
        "def g():\n\treturn torch.ones(3)\n\nf(torch.ones(3, device=device))"
    )
    assert "\t\ty = y.to(x.device)\n\t\treturn x + y" in student.explain(code).fix.text


def test_a_leaf_tensor_from_an_earlier_cell_is_moved_where_it_is_used(student):
    names = student.names()
    assert student.error_of("w = torch.ones(3, requires_grad=True)", names) is None
    explanation = student.explain("z = w * torch.ones(3, device=device)", names)
    assert explanation.fix.shown[-1][1] == "z = w.to(device) * torch.ones(3, device=device)"
