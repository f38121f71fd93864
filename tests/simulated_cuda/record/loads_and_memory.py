"""Cases that save and load across devices, and cases about device memory."""

from __future__ import annotations

from .cases import Case, refused, works

_SAVED = (
    "from unittest import mock\n"
    "net = nn.Linear(2, 1).to(device)\nfile = io.BytesIO()\n"
    "torch.save(net.state_dict(), file)\nplace = file.seek(0)"
)
_NO_CUDA = "with mock.patch('torch.cuda.is_available', return_value=False):\n    "

_LOADS: tuple[Case, ...] = (
    refused(
        "load-without-cuda",
        "load",
        _SAVED,
        f"{_NO_CUDA}state = torch.load(file)",
        "file",
        f"{_NO_CUDA}state = torch.load(file, map_location='cpu')",
    ),
    refused(
        "load-whole-object-without-cuda",
        "load",
        _SAVED,
        f"{_NO_CUDA}state = torch.load(file, weights_only=False)",
        "file",
        f"{_NO_CUDA}state = torch.load(file, map_location='cpu', weights_only=False)",
    ),
    refused(
        "load-from-missing-gpu",
        "load",
        "file = io.BytesIO()\ntorch.save(torch.ones(2, device=device), file)\nplace = file.seek(0)",
        "x = torch.load(file, map_location='cuda:99')",
        "file",
        "x = torch.load(file, map_location='cuda:0')",
    ),
    works(
        "load-keeps-the-device",
        "load",
        _SAVED,
        "state = torch.load(file)",
        "sorted((k, str(v.device)) for k, v in state.items())",
    ),
    works(
        "load-to-cpu",
        "load",
        _SAVED,
        "state = torch.load(file, map_location='cpu')",
        "sorted((k, str(v.device)) for k, v in state.items())",
    ),
    works(
        "load-to-cpu-without-cuda",
        "load",
        _SAVED,
        f"{_NO_CUDA}state = torch.load(file, map_location=torch.device('cpu'))",
        "sorted((k, str(v.device)) for k, v in state.items())",
    ),
    works(
        "load-cpu-file-to-gpu",
        "load",
        "file = io.BytesIO()\ntorch.save({'w': torch.ones(2)}, file)\nplace = file.seek(0)",
        "state = torch.load(file, map_location='cuda')",
        "(str(state['w'].device), state['w'].tolist())",
    ),
    works(
        "load-with-a-dictionary",
        "load",
        _SAVED,
        "state = torch.load(file, map_location={'cuda:0': 'cpu'})",
        "sorted((k, str(v.device)) for k, v in state.items())",
    ),
    works(
        "load-with-a-function",
        "load",
        _SAVED,
        "state = torch.load(file, map_location=lambda storage, where: storage)",
        "sorted((k, str(v.device)) for k, v in state.items())",
    ),
    works(
        "load-into-a-cpu-network",
        "load",
        _SAVED,
        "missing = nn.Linear(2, 1).load_state_dict(torch.load(file))",
        "str(missing)",
    ),
    works(
        "load-a-whole-network",
        "load",
        "net = nn.Linear(2, 1).to(device)\nfile = io.BytesIO()\n"
        "torch.save(net, file)\nplace = file.seek(0)",
        "net = torch.load(file, weights_only=False)",
        "(str(net.weight.device), type(net.weight).__name__)",
    ),
    works(
        "load-an-optimizer",
        "load",
        "net = nn.Linear(2, 1).to(device)\nopt = torch.optim.Adam(net.parameters())\n"
        "net(torch.ones(1, 2, device=device)).sum().backward()\nopt.step()\nfile = io.BytesIO()\n"
        "torch.save(opt.state_dict(), file)\nplace = file.seek(0)",
        "opt.load_state_dict(torch.load(file, map_location='cpu'))",
        "sorted({(k, str(v.device)) for s in opt.state.values() for k, v in s.items()})",
    ),
    works(
        "views-share-memory-after-loading",
        "load",
        "x = torch.zeros(4, device=device)\nfile = io.BytesIO()\n"
        "torch.save({'all': x, 'half': x[:2]}, file)\nplace = file.seek(0)\n"
        "state = torch.load(file)",
        "state['half'].fill_(1.0)",
        "(str(state['half'].device), state['all'].tolist())",
    ),
    works(
        "pickle-keeps-the-device",
        "load",
        "import pickle\nx = torch.ones(2, device=device)",
        "y = pickle.loads(pickle.dumps(x))",
        "(str(y.device), y.tolist())",
    ),
)

_BEFORE = "import gc\ngc.collect()\nbefore = torch.cuda.memory_allocated()\n"

_MEMORY: tuple[Case, ...] = (
    works(
        "memory-of-a-tensor",
        "memory",
        _BEFORE + "x = torch.empty(1000, 1000, device=device)",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-is-rounded-up",
        "memory",
        _BEFORE + "x = torch.empty(1, device=device)",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-is-freed",
        "memory",
        _BEFORE + "x = torch.empty(1000, 1000, device=device)\ndel x",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-of-a-view",
        "memory",
        _BEFORE + "x = torch.empty(1000, 1000, device=device)\ny = x[:10]",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-held-by-a-view",
        "memory",
        _BEFORE + "x = torch.empty(1000, 1000, device=device)\ny = x[:10]\ndel x",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-of-cpu-is-not-counted",
        "memory",
        _BEFORE + "x = torch.empty(1000, 1000)",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-of-a-move",
        "memory",
        _BEFORE + "x = torch.empty(256).to(device)",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-peak",
        "memory",
        _BEFORE
        + "torch.cuda.reset_peak_memory_stats()\nx = torch.empty(1024, 1024, device=device)\n"
        "y = torch.empty(1024, 1024, device=device)\ndel y",
        "peak = torch.cuda.max_memory_allocated() - before",
        "peak",
    ),
    works(
        "memory-of-a-network",
        "memory",
        _BEFORE + "net = nn.Linear(128, 128).to(device)",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-of-gradients",
        "memory",
        _BEFORE + "w = torch.ones(256, 256, device=device, requires_grad=True)\nw.sum().backward()",
        "used = torch.cuda.memory_allocated() - before",
        "used",
    ),
    works(
        "memory-reserved-includes-freed-memory",
        "memory",
        "x = torch.empty(1000, 1000, device=device)\ndel x",
        "y = torch.cuda.memory_reserved() >= 4_000_000",
        "y",
    ),
    refused(
        "out-of-memory",
        "memory",
        "",
        "x = torch.empty(1 << 48, dtype=torch.uint8, device=device)",
        "",
        "x = torch.empty(1 << 20, dtype=torch.uint8, device=device)",
    ),
    works(
        "out-of-memory-is-caught",
        "memory",
        "def attempt(rows):\n    try:\n"
        "        x = torch.empty(rows, 1 << 20, dtype=torch.uint8, device=device)\n"
        "        return 'fits'\n    except torch.OutOfMemoryError as error:\n"
        "        same = torch.cuda.OutOfMemoryError is torch.OutOfMemoryError\n"
        "        return (type(error).__name__, isinstance(error, RuntimeError), same)\n",
        "y = [attempt(1 << 28), attempt(1)]",
        "y",
    ),
)

CASES: tuple[Case, ...] = (*_LOADS, *_MEMORY)
