"""Errors that are not about devices get no box, even if tensors on two devices are in scope."""

import pytest

TENSORS = "x = torch.ones(3, device=device)\ny = torch.ones(3)\nnet = nn.Linear(3, 2)\n"
CODES = [
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "torch.ones(3, device=device) + torch.ones(4, device=device)",
    "nn.Linear(3, 2)(torch.ones(1, 4))",
    "{}['cuda']",
    "device.to('cuda')",
    "undefined.to(device)",
    "torch.zeros(3).view(2, 2)",
    TENSORS + "print(x, y, undefined)",
    TENSORS + "[x, y][2]",
    TENSORS + "net.load_state_dict({'weight': x, 'other': y})",
    TENSORS + "nn.functional.cross_entropy(torch.ones(2, 3), torch.ones(2, dtype=torch.long) * 5)",
    TENSORS + "opt = torch.optim.SGD(net.parameters(), lr=1)\n(x, y, opt.device)",
    TENSORS + "open(f'/no/such/folder/{x.device}/{y.device}')",
    TENSORS + "if x.device != y.device:\n    raise ValueError(f'x is on {x.device}, y is on cpu')",
    TENSORS + "assert x.device == y.device, 'x and y are not on one device'",
    TENSORS + "assert all(t.is_meta for t in [x, y]), 'x and y are not on one device'",
    TENSORS + "assert (x.device, y.device) == (device, device), 'not on one device'",
    TENSORS + "def check(x, y):\n    raise AssertionError('x is on meta, y on cpu')\n\ncheck(x, y)",
    TENSORS + "from helpers.devices import choose_device\n(x, y, choose_device('cuda:99'))",
    TENSORS + "from helpers.devices import where\nwhere(x, y, 'cuda')",
]


@pytest.mark.parametrize("code", CODES)
def test_error_has_no_explanation(student, code):
    assert student.explain(code) is None
