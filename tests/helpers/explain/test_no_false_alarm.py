"""No box for an error that has nothing to do with devices, even where two devices are at hand."""

import pytest

HAND = "x = torch.ones(3, device=device)\ny = torch.ones(3)\nnet = nn.Linear(3, 2)\n"
CODES = [
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "torch.ones(3, device=device) + torch.ones(4, device=device)",
    "nn.Linear(3, 2)(torch.ones(1, 4))",
    "{}['cuda']",
    "device.to('cuda')",
    "undefined.to(device)",
    "torch.zeros(3).view(2, 2)",
    HAND + "print(x, y, undefined)",
    HAND + "[x, y][2]",
    HAND + "net.load_state_dict({'weight': x, 'other': y})",
    HAND + "nn.functional.cross_entropy(torch.ones(2, 3), torch.ones(2, dtype=torch.long) * 5)",
    HAND + "opt = torch.optim.SGD(net.parameters(), lr=1)\n(x, y, opt.device)",
    HAND + "open(f'/no/such/folder/{x.device}/{y.device}')",
    HAND + "if x.device != y.device:\n    raise ValueError(f'x is on {x.device}, y is on cpu')",
    HAND + "assert x.device == y.device, 'x and y are not on one device'",
    HAND + "assert all(t.is_meta for t in [x, y]), 'x and y are not on one device'",
    HAND + "assert (x.device, y.device) == (device, device), 'not on one device'",
    HAND + "def check(x, y):\n    raise AssertionError('x is on meta, y on cpu')\n\ncheck(x, y)",
    HAND + "from helpers.devices import choose_device\n(x, y, choose_device('cuda:99'))",
    HAND + "from helpers.devices import where\nwhere(x, y, 'cuda')",
]


@pytest.mark.parametrize("code", CODES)
def test_there_is_no_explanation(student, code):
    assert student.explain(code) is None
