"""Cases that look like errors but work on CUDA: CPU scalars, indices, copies, reading values."""

from __future__ import annotations

from .cases import Case, works


def _works(name: str, setup: str, line: str, shows: str, **options: object) -> Case:
    return works(name, "near-miss", setup, line, shows, **options)


CASES: tuple[Case, ...] = (
    _works(
        "cpu-scalar-times",
        "x = torch.ones(2, device=device)",
        "y = x * torch.tensor(2.0)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-scalar-first",
        "x = torch.ones(2, device=device)",
        "y = torch.tensor(2.0) - x",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-scalar-in-place",
        "x = torch.ones(2, device=device)",
        "x += torch.tensor(2.0)",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "two-scalars",
        "x = torch.tensor(1.0, device=device)",
        "y = x + torch.tensor(2.0)",
        "(str(y.device), y.item())",
    ),
    _works(
        "two-scalars-swapped",
        "x = torch.tensor(1.0, device=device)",
        "y = torch.tensor(2.0) + x",
        "(str(y.device), y.item())",
    ),
    _works(
        "cpu-scalar-compared",
        "x = torch.arange(3, device=device)",
        "y = x > torch.tensor(1)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-scalar-in-where",
        "x = torch.arange(3.0, device=device)",
        "y = torch.where(x > 1, x, torch.tensor(0.0))",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-scalar-in-lerp",
        "x = torch.zeros(2, device=device)\ny = torch.ones(2, device=device)",
        "z = torch.lerp(x, y, torch.tensor(0.5))",
        "(str(z.device), z.tolist())",
    ),
    _works(
        "cpu-scalar-in-masked_fill",
        "x = torch.zeros(2, device=device)\nmask = torch.tensor([True, False], device=device)",
        "y = x.masked_fill(mask, torch.tensor(5.0))",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-scalar-assigned",
        "x = torch.zeros(2, device=device)",
        "x[0] = torch.tensor(5.0)",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "cpu-scalar-assigned-by-mask",
        "x = torch.arange(3.0, device=device)",
        "x[x > 0] = torch.tensor(7.0)",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "cpu-index",
        "x = torch.arange(4.0, device=device)",
        "y = x[torch.tensor([0, 2])]",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-mask",
        "x = torch.arange(3.0, device=device)",
        "y = x[torch.tensor([True, False, True])]",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "cpu-index-assigned",
        "x = torch.zeros(3, device=device)",
        "x[torch.tensor([0, 2])] = 1.0",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "cpu-scalar-index",
        "x = torch.arange(4.0, device=device)",
        "y = x[torch.tensor(2)]",
        "(str(y.device), y.item())",
    ),
    _works(
        "gpu-scalar-index-into-cpu",
        "x = torch.arange(4.0)\nbest = torch.tensor(2, device=device)",
        "y = x[best]",
        "(str(y.device), y.item())",
    ),
    _works(
        "gpu-scalar-index-into-a-list",
        "names = ['cat', 'dog']\nbest = torch.tensor(1, device=device)",
        "y = names[best]",
        "y",
    ),
    _works(
        "slice-assigned-from-cpu",
        "x = torch.zeros(4, device=device)",
        "x[1:3] = torch.ones(2)",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "row-assigned-from-cpu",
        "x = torch.zeros(2, 2, device=device)",
        "x[0] = torch.ones(2)",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "slice-of-cpu-assigned-from-gpu",
        "x = torch.zeros(4)",
        "x[:2] = torch.ones(2, device=device)",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "copy_-to-gpu",
        "x = torch.zeros(2, device=device)",
        "x.copy_(torch.ones(2))",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "copy_-to-cpu",
        "x = torch.zeros(2)",
        "x.copy_(torch.ones(2, device=device))",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "copy_-between-gpus",
        "x = torch.zeros(2, device='cuda:1')",
        "x.copy_(torch.ones(2, device='cuda:0'))",
        "(str(x.device), x.tolist())",
        gpus=2,
    ),
    _works(
        "numpy-number",
        "x = torch.ones(2, device=device)",
        "y = x * np.float32(2.0)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "python-number",
        "x = torch.ones(2, device=device)",
        "y = 2 * x + 1",
        "(str(y.device), y.tolist())",
    ),
    _works("item", "x = torch.tensor(1.5, device=device)", "y = x.item()", "y"),
    _works("tolist", "x = torch.arange(3, device=device)", "y = x.tolist()", "y"),
    _works("bool", "x = torch.tensor(True, device=device)", "y = 'yes' if x else 'no'", "y"),
    _works("float-and-int", "x = torch.tensor(3.5, device=device)", "y = (float(x), int(x))", "y"),
    _works(
        "len-and-iterate",
        "x = torch.arange(2, device=device)",
        "y = [(str(row.device), int(row)) for row in x]",
        "(len(x), y)",
    ),
    _works("format", "x = torch.tensor(0.123456, device=device)", "y = f'{x:.3f}'", "y"),
    _works("repr", "x = torch.tensor([1.0, 2.0], device=device)", "y = repr(x)", "y"),
    _works(
        "repr-scalar-f-string",
        "x = torch.tensor(1.0, device=device)",
        "y = f'{x} {x.sum()!r}'",
        "y",
    ),
    _works("repr-of-cpu", "x = torch.tensor([1.0, 2.0])", "y = repr(x)", "y"),
    _works(
        "repr-with-grad",
        "x = torch.tensor([1.0], device=device, requires_grad=True)",
        "y = (repr(x), repr(x * 2))",
        "y",
    ),
    _works(
        "repr-of-parameter", "w = nn.Parameter(torch.ones(2, device=device))", "y = repr(w)", "y"
    ),
    _works(
        "dropout",
        "net = nn.Dropout(0.5).eval()\nx = torch.ones(2, device=device)",
        "y = net(x)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "loss-without-weights-needs-no-move",
        "loss = nn.MSELoss()\nx = torch.ones(2, device=device)",
        "y = loss(x, x)",
        "(str(y.device), y.item())",
    ),
    _works(
        "activation-needs-no-move",
        "net = nn.Sequential(nn.ReLU(), nn.Softmax(0))\nx = torch.zeros(2, device=device)",
        "y = net(x)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "state-dict-from-cpu",
        "net = nn.Linear(2, 1).to(device)\n"
        "state = {'weight': torch.ones(1, 2), 'bias': torch.zeros(1)}",
        "net.load_state_dict(state)",
        "(str(net.weight.device), net.weight.tolist())",
    ),
    _works(
        "optimizer-created-before-the-move",
        "net = nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=1.0, momentum=0.9)\n"
        "net.to(device)\nnet(torch.ones(1, 2, device=device)).sum().backward()",
        "optimizer.step()",
        "sorted(str(s['momentum_buffer'].device) for s in optimizer.state.values())",
    ),
    _works(
        "optimizer-state-loaded-from-cpu",
        "def make(where):\n    net = nn.Linear(2, 1).to(where)\n"
        "    opt = torch.optim.Adam(net.parameters())\n"
        "    net(torch.ones(1, 2, device=where)).sum().backward()\n    opt.step()\n"
        "    return opt\n\nold, new = make('cpu'), make(device)",
        "new.load_state_dict(old.state_dict())",
        "sorted({(k, str(v.device)) for s in new.state.values() for k, v in s.items()})",
    ),
    _works(
        "gradient-clipping",
        "net = nn.Linear(2, 1).to(device)\nnet(torch.ones(1, 2, device=device)).sum().backward()",
        "norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)",
        "(str(norm.device), str(net.weight.grad.device))",
    ),
    _works(
        "data-assigned-from-cpu",
        "w = nn.Parameter(torch.ones(2, device=device))",
        "w.data = torch.zeros(2)",
        "(str(w.device), w.tolist())",
    ),
    _works(
        "backward-gives-gradients-on-the-device",
        "w = torch.ones(2, device=device, requires_grad=True)",
        "(w * w).sum().backward()",
        "(str(w.grad.device), w.grad.tolist())",
    ),
    _works(
        "backward-across-a-move",
        "w = torch.ones(2, requires_grad=True)",
        "(w.to(device) * 3).sum().backward()",
        "(str(w.grad.device), w.grad.tolist())",
    ),
    _works(
        "autograd-grad",
        "w = torch.ones(2, device=device, requires_grad=True)",
        "g, = torch.autograd.grad((w ** 3).sum(), w)",
        "(str(g.device), g.tolist())",
    ),
    _works(
        "hook-sees-the-device",
        "w = torch.ones(2, device=device, requires_grad=True)\nseen = []\n"
        "handle = w.register_hook(lambda g: seen.append(str(g.device)))",
        "(w * w).sum().backward()",
        "seen",
    ),
    _works(
        "lengths-for-packing-stay-on-cpu",
        "x = torch.ones(2, 3, 1, device=device)\nlengths = torch.tensor([3, 2])",
        "packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)",
        "(str(packed.data.device), str(packed.batch_sizes.device), packed.batch_sizes.tolist())",
    ),
    _works(
        "repeat-and-reshape",
        "x = torch.ones(2, device=device)",
        "y = x.repeat(3).reshape(3, 2).sum(0)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "rand_like",
        "x = torch.ones(2, device=device)",
        "y = torch.rand_like(x)",
        "(str(y.device), tuple(y.shape))",
    ),
    _works(
        "fill-from-cpu-scalar",
        "x = torch.zeros(2, device=device)",
        "x.fill_(torch.tensor(3.0))",
        "(str(x.device), x.tolist())",
    ),
    _works(
        "torch.tensor-of-gpu-scalars",
        "a = torch.tensor(1.0, device=device)\nb = torch.tensor(2.0, device=device)",
        "y = torch.tensor([a, b])",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "sum-of-a-list-of-losses",
        "losses = [torch.tensor(1.0, device=device), torch.tensor(2.0, device=device)]",
        "y = sum(losses)",
        "(str(y.device), y.item())",
    ),
    _works(
        "cpu-scalar-total",
        "x = torch.ones(2, device=device)\ntotal = torch.tensor(0.0)",
        "total = total + x.sum()",
        "(str(total.device), total.item())",
    ),
)
