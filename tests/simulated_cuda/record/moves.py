"""Cases that create tensors and networks on a device, move them, and query their device."""

from __future__ import annotations

from .cases import Case, refused, works


def _works(name: str, setup: str, line: str, shows: str, **options: object) -> Case:
    return works(name, "move", setup, line, shows, **options)


CASES: tuple[Case, ...] = (
    _works(
        "to-string",
        "x = torch.ones(2)",
        "y = x.to('cuda')",
        "(str(y.device), y.is_cuda, y.get_device(), x.is_cuda)",
    ),
    _works(
        "to-device",
        "x = torch.ones(2)",
        "y = x.to(torch.device('cuda', 0))",
        "(y.device, y.device.index)",
    ),
    _works("to-index", "x = torch.ones(2)", "y = x.to(0)", "str(y.device)"),
    _works(
        "to-keyword-device-and-dtype",
        "x = torch.ones(2)",
        "y = x.to(device=device, dtype=torch.float16)",
        "(str(y.device), y.dtype)",
    ),
    _works(
        "to-positional-device-and-dtype",
        "x = torch.ones(2)",
        "y = x.to('cuda', torch.int64)",
        "(str(y.device), y.dtype)",
    ),
    _works(
        "to-another-tensor",
        "x = torch.ones(2)\nother = torch.zeros(1, dtype=torch.float64, device=device)",
        "y = x.to(other)",
        "(str(y.device), y.dtype)",
    ),
    _works(
        "to-dtype-keeps-the-device",
        "x = torch.ones(2, device=device)",
        "y = x.to(torch.float16)",
        "(str(y.device), y.dtype)",
    ),
    _works(
        "to-same-device-is-the-same-object",
        "x = torch.ones(2, device=device)",
        "y = x.to('cuda')",
        "(y is x, x.cuda() is x, x.to('cuda:0') is x)",
    ),
    _works(
        "to-copy",
        "x = torch.ones(2, device=device)",
        "y = x.to('cuda', copy=True)",
        "(y is x, str(y.device), y.data_ptr() == x.data_ptr())",
    ),
    _works("cpu-of-cpu-is-the-same-object", "x = torch.ones(2)", "y = x.cpu()", "y is x"),
    _works("cuda-method", "x = torch.ones(2)", "y = x.cuda(non_blocking=True)", "str(y.device)"),
    _works(
        "to-gpu-and-back",
        "x = torch.arange(3.0)",
        "y = x.to(device).cpu()",
        "(str(y.device), y.tolist(), y is x)",
    ),
    _works(
        "moved-is-a-copy",
        "x = torch.zeros(2)\ny = x.to(device)",
        "y += 1",
        "(x.tolist(), y.tolist())",
    ),
    _works(
        "factories",
        "",
        "made = [torch.zeros(1, device=device), torch.empty(1, device='cuda:0'), "
        "torch.arange(1, device=0), torch.rand(1, device=torch.device('cuda')), "
        "torch.tensor([1], device=device), torch.eye(1, device=device), "
        "torch.linspace(0, 1, 2, device=device), torch.full((1,), 2, device=device), "
        "torch.randint(3, (1,), device=device), torch.randperm(2, device=device)]",
        "{str(x.device) for x in made}",
    ),
    _works(
        "like-and-new-functions",
        "x = torch.ones(2, device=device)",
        "made = [torch.zeros_like(x), torch.randn_like(x), x.new_zeros(3), x.new_tensor([1.0]), "
        "x.new_full((1,), 2.0), x.new_empty(1), torch.zeros_like(x, device='cpu')]",
        "[str(y.device) for y in made]",
    ),
    _works(
        "views-stay-on-the-device",
        "x = torch.ones(2, 3, device=device)",
        "made = [x[0], x[:, 1:], x.T, x.view(6), x.reshape(3, 2), x.detach(), x.data, "
        "x.unbind()[1], x.chunk(2)[1]]",
        "({str(y.device) for y in made}, made[0].data_ptr() == x.data_ptr())",
    ),
    _works(
        "view-writes-through",
        "x = torch.zeros(2, 2, device=device)",
        "x[0].fill_(5.0)",
        "x.tolist()",
    ),
    _works(
        "results-stay-on-the-device",
        "x = torch.arange(4.0, device=device)",
        "made = [x + 1, -x, x.sum(), x.max(dim=0).values, x.sort().indices, x.argmax(), "
        "x.long(), x.clone(), x.exp()]",
        "{str(y.device) for y in made}",
    ),
    _works(
        "default-device",
        "torch.set_default_device('cuda')\nx = torch.ones(2)\ny = nn.Linear(1, 1).weight",
        "torch.set_default_device(None)",
        "(str(x.device), str(y.device), str(torch.ones(1).device))",
    ),
    _works(
        "with-device",
        "with torch.device('cuda'):\n    x = torch.zeros(1)\n    net = nn.Linear(1, 1)",
        "y = torch.zeros(1)",
        "(str(x.device), str(net.bias.device), str(y.device))",
    ),
    _works(
        "as_tensor",
        "a = np.ones(2, dtype=np.float32)",
        "y = torch.as_tensor(a, device=device)",
        "(str(y.device), y.tolist())",
    ),
    _works(
        "tensor-type-name",
        "x = torch.ones(2, device=device)",
        "y = (x.type(), x.long().type(), torch.ones(1).type())",
        "y",
    ),
    _works(
        "module-moves-in-place",
        "net = nn.Linear(2, 1)\nbefore = net.weight",
        "after = net.to(device)",
        "(after is net, net.weight is before, str(before.device), type(before).__name__)",
    ),
    _works("tensor-does-not-move-in-place", "x = torch.ones(2)", "x.to(device)", "str(x.device)"),
    _works(
        "module-created-on-the-device",
        "",
        "net = nn.Linear(2, 1, device=device)",
        "(str(net.weight.device), net.weight.is_leaf)",
    ),
    _works(
        "buffers-move",
        "net = nn.BatchNorm1d(2)",
        "net.cuda()",
        "{name: str(b.device) for name, b in net.named_buffers()}",
    ),
    _works(
        "gradients-move",
        "net = nn.Linear(2, 1)\nnet(torch.ones(1, 2)).sum().backward()",
        "net.to(device)",
        "(str(net.weight.grad.device), net.weight.grad.tolist())",
    ),
    _works(
        "module-back-to-cpu", "net = nn.Linear(2, 1).cuda()", "net.cpu()", "str(net.weight.device)"
    ),
    _works(
        "parameters-of-the-classic-network",
        "net = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.Flatten(), "
        "nn.Linear(6 * 24 * 24, 10)).to(device)",
        "y = [(n, tuple(p.shape), str(p.device)) for n, p in net.named_parameters()]",
        "y",
    ),
    _works(
        "deepcopy",
        "import copy\nnet = nn.Linear(2, 1).to(device)",
        "twin = copy.deepcopy(net)",
        "(str(twin.weight.device), twin.weight is net.weight, type(twin.weight).__name__)",
    ),
    _works(
        "moved-leaf-is-not-a-leaf",
        "w = torch.ones(2, requires_grad=True)",
        "moved = w.to(device)",
        "(w.is_leaf, moved.is_leaf, moved.requires_grad)",
    ),
    _works(
        "second-gpu",
        "x = torch.ones(2, device='cuda:1')",
        "y = (x * 2).to('cuda:0')",
        "(str(x.device), x.get_device(), str(y.device))",
        gpus=2,
    ),
    _works(
        "current-device",
        "with torch.cuda.device(1):\n    x = torch.ones(1, device='cuda')",
        "y = torch.ones(1, device='cuda')",
        "(str(x.device), str(y.device))",
        gpus=2,
    ),
    _works(
        "result-stays-on-the-second-gpu",
        "net = nn.Linear(2, 1).to('cuda:1')",
        "y = net(torch.ones(1, 2, device='cuda:1'))",
        "str(y.device)",
        gpus=2,
    ),
    _works(
        "availability",
        "",
        "y = (torch.cuda.is_available(), torch.cuda.device_count() >= 1, "
        "torch.cuda.current_device())",
        "y",
    ),
    _works(
        "accelerator",
        "",
        "y = torch.accelerator.current_accelerator()",
        "(y, torch.accelerator.is_available())",
    ),
    _works("get_device-of-cpu-tensor", "x = torch.ones(1)", "y = x.get_device()", "y"),
    refused(
        "ordinal-out-of-range",
        "move",
        "x = torch.ones(2)",
        "x.to('cuda:99')",
        "x",
        "x.to('cuda:0')",
    ),
    refused(
        "create-on-missing-gpu",
        "move",
        "",
        "torch.zeros(1, device='cuda:99')",
        "",
        "torch.zeros(1, device='cuda:0')",
    ),
    refused("unknown-device-name", "move", "x = torch.ones(2)", "x.to('gpu')", "x", "x.to('cuda')"),
    refused("cuda-to-cpu", "move", "x = torch.ones(2)", "x.cuda('cpu')", "x", "x.to('cpu')"),
)
