"""The fix in an explanation works and looks like code that a student would write."""

import pytest

MISMATCH = "x = torch.ones(3, device=device)\ny = torch.ones(3)\n"
ADDED = [
    ("a line before", MISMATCH + "z = x + y", "y = y.to(device)"),
    (
        "a device name instead of a variable",
        MISMATCH.replace("=device", "='meta'") + "del device\nz = x + y",
        "y = y.to('meta')",
    ),
    (
        "a device variable with another name",
        "place = torch.device(device)\ndel device\n"
        "x = torch.ones(3, device=place)\ny = torch.ones(3)\nz = x + y",
        "y = y.to(place)",
    ),
    (
        "two lines for two tensors",
        MISMATCH + "h = torch.ones(3)\nz = torch.cat([x, y, h])",
        "y = y.to(device)\nh = h.to(device)",
    ),
    (
        "a network",
        "net = nn.Linear(3, 2)\nz = net(torch.ones(1, 3, device=device))",
        "net.to(device)",
    ),
    (
        "a network and its input",
        "net = nn.Linear(3, 2)\nx = torch.ones(1, 3)\n"
        "y = torch.ones(1, 2, device=device)\nz = y + net(x)",
        "net.to(device)\nx = x.to(device)",
    ),
    (
        "a list",
        "parts = [torch.ones(3, device=device), torch.ones(3)]\ntorch.cat(parts)",
        "parts = [item.to(device) for item in parts]",
    ),
    (
        "a tuple",
        "parts = (torch.ones(3, device=device), torch.ones(3))\ntorch.cat(parts)",
        "parts = tuple(item.to(device) for item in parts)",
    ),
    (
        "keyword arguments",
        "def add(a, b):\n    return a + b\n\n"
        "batch = {'a': torch.ones(3, device=device), 'b': torch.ones(3)}\nadd(**batch)",
        "batch = {key: value.to(device) for key, value in batch.items()}",
    ),
    (
        "both variables of a loop",
        "net = nn.Linear(3, 2).to(device)\n"
        "for X, y in [(torch.ones(1, 3), torch.ones(1, 2))]:\n    h = net(X)\n    h - y",
        "X, y = X.to(device), y.to(device)",
    ),
    (
        "in a function, the device of its argument",
        "def shift(x):\n    y = load()\n    return x + y\n\ndef load():\n"
        "    return torch.ones(3)\n\nshift(torch.ones(3, device=device))",
        "y = y.to(x.device)",
    ),
]
REWRITTEN = [
    ("a factory", MISMATCH + "z = x + torch.ones(3)", "z = x + torch.ones(3, device=device)"),
    (
        "a factory over several lines",
        MISMATCH + "z = x + torch.ones(\n    3,\n)",
        "z = x + torch.ones(3, device=device)",
    ),
    (
        "a factory with one argument",
        MISMATCH + "z = x + torch.tensor([1.0, 2.0, 3.0])",
        "z = x + torch.tensor([1.0, 2.0, 3.0], device=device)",
    ),
    (
        "a NumPy array",
        MISMATCH + "z = x + torch.from_numpy(np.ones(3))",
        "z = x + torch.from_numpy(np.ones(3)).to(device)",
    ),
    (
        "an element",
        "p = (torch.ones(3), 1)\nz = torch.ones(3, device=device) + p[0]",
        "z = torch.ones(3, device=device) + p[0].to(device)",
    ),
    (
        "after an if on the same line",
        MISMATCH + "if True: z = x + y",
        "if True: z = x + y.to(device)",
    ),
    (
        "in an elif",
        MISMATCH + "if x is y:\n    pass\nelif (x + y) is not None:\n    pass",
        "elif (x + y.to(device)) is not None:",
    ),
    ("after a semicolon", MISMATCH + "a = 1; z = x + y", "a = 1; z = x + y.to(device)"),
    (
        "the variable of a comprehension",
        MISMATCH + "z = [x + b for b in [y]]",
        "z = [x + b.to(device) for b in [y]]",
    ),
    (
        "an argument of a lambda",
        MISMATCH + "f = lambda v: x + v\nz = f(y)",
        "f = lambda v: x + v.to(x.device)",
    ),
    (
        "a variable from outside the function",
        "mean = torch.ones(3)\ndef center(x):\n    return x - mean\n\n"
        "center(torch.ones(3, device=device))",
        "return x - mean.to(x.device)",
    ),
    (
        "a trained leaf tensor",
        "w = torch.ones(3, requires_grad=True)\nz = w * torch.ones(3, device=device)",
        "w = torch.ones(3, requires_grad=True, device=device)",
    ),
    (
        "a move to the wrong device",
        "x = torch.ones(3)\nz = torch.ones(3, device='meta') + x.to('cpu')",
        "z = torch.ones(3, device='meta') + x.to(device)",
    ),
    ("a move whose result was dropped", MISMATCH + "y.to(device)\nz = x + y", "y = y.to(device)"),
    (
        "a tensor that a function creates",
        "def f(x):\n    y = torch.ones(3)\n    return x + y\n\nf(torch.ones(3, device=device))",
        "y = torch.ones(3, device=x.device)",
    ),
    (
        "a tensor that a function creates from a size",
        "def f(x):\n    y = 2 * torch.arange(x.shape[0])\n"
        "    return x + y\n\nf(torch.ones(3, device=device))",
        "y = 2 * torch.arange(x.shape[0], device=x.device)",
    ),
    (
        "a plain attribute of a network",
        "class Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.scale = torch.ones(3)  # later\n\n"
        "    def forward(self, x):\n        return x * self.scale\n\n"
        "net = Net().to(device)\nnet(torch.ones(2, 3, device=device))",
        "self.register_buffer('scale', torch.ones(3))  # later",
    ),
    (
        "a trained tensor in a plain attribute",
        "class Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.w = torch.ones(3, requires_grad=True)\n\n"
        "    def forward(self, x):\n        return x * self.w\n\n"
        "net = Net().to(device)\nnet(torch.ones(2, 3, device=device))",
        "self.w = nn.Parameter(torch.ones(3, requires_grad=True))",
    ),
    (
        "layers in a list",
        "class Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layers = [nn.Linear(3, 3)]\n\n"
        "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n"
        "        return x\n\nnet = Net().to(device)\nnet(torch.ones(2, 3, device=device))",
        "self.layers = nn.ModuleList([nn.Linear(3, 3)])",
    ),
    (
        "parameters in a list",
        "class Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.ws = [nn.Parameter(torch.ones(3))]\n\n"
        "    def forward(self, x):\n        for w in self.ws:\n            x = x * w\n"
        "        return x\n\nnet = Net().to(device)\nnet(torch.ones(2, 3, device=device))",
        "self.ws = nn.ParameterList([nn.Parameter(torch.ones(3))])",
    ),
    (
        "a tensor passed to NumPy",
        "x = torch.ones(3, device=device)\nnp.asarray(x)",
        "np.asarray(x.cpu())",
    ),
    (
        "a list for NumPy",
        "losses = [torch.ones((), device=device)]\nnp.array(losses)",
        "np.array([item.cpu() for item in losses])",
    ),
    (
        "a result for NumPy",
        "net = nn.Linear(3, 2).to(device)\nnet(torch.ones(1, 3, device=device)).numpy()",
        "net(torch.ones(1, 3, device=device)).detach().cpu().numpy()",
    ),
    ("an unknown device name", "torch.ones(3).to('gpu')", "torch.ones(3).to('cpu')"),
]
# meta tensors have no data that could be copied to the CPU
NEEDS_DATA = {"a tensor passed to NumPy", "a list for NumPy", "a result for NumPy"}


@pytest.mark.parametrize(("code", "lines"), [c[1:] for c in ADDED], ids=[c[0] for c in ADDED])
def test_fix_adds_lines(student, code, lines):
    explanation = student.explain(code)
    assert explanation.fix.added == lines
    assert student.error_of(explanation.fix.text) is None


@pytest.mark.parametrize(("name", "code", "line"), REWRITTEN, ids=[c[0] for c in REWRITTEN])
def test_fix_rewrites_line(student, name, code, line):
    explanation = student.explain(code)
    assert explanation.fix.shown[1] == line
    if name not in NEEDS_DATA:
        assert student.error_of(explanation.fix.text) is None


def test_a_mismatch_in_an_f_string_is_fixed_on_the_line_before(student):
    code = MISMATCH + "text = f'{(x + y).shape}'"
    assert student.error_of(student.apply_fix(code)) is None


def test_a_fix_keeps_tab_indentation(student):
    code = (
        "def f(x):\n\tif True:\n\t\ty = g()\n\t\treturn x + y\n\n"
        "def g():\n\treturn torch.ones(3)\n\nf(torch.ones(3, device=device))"
    )
    assert "\t\ty = y.to(x.device)\n\t\treturn x + y" in student.apply_fix(code)


def test_a_leaf_tensor_from_an_earlier_cell_is_moved_where_it_is_used(student):
    names = student.names()
    assert student.error_of("w = torch.ones(3, requires_grad=True)", names) is None
    explanation = student.explain("z = w * torch.ones(3, device=device)", names)
    assert explanation.fix.shown[1] == "z = w.to(device) * torch.ones(3, device=device)"


def test_the_result_of_a_function_is_copied_for_numpy(student):
    code = "def predict():\n    return torch.ones(3, device=device)\n\npredict().numpy()"
    assert student.explain(code).fix.shown[1] == "predict().cpu().numpy()"


def test_a_dtype_conversion_with_a_dropped_result_is_not_mistaken_for_a_move(student):
    code = MISMATCH + "y.to(torch.float16)\nz = x + y"
    assert student.explain(code).fix.added == "y = y.to(device)"
