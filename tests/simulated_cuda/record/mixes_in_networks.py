"""Cases with a network and its data, loss or optimizer on different devices."""

from __future__ import annotations

from .cases import Case, mix

_TARGETS = "scores = torch.zeros(2, 3, device=device)\ntargets = torch.tensor([0, 2])"
_VALUES = "predicted = torch.zeros(2, device=device)\ntargets = torch.ones(2)"

_LAYERS: tuple[Case, ...] = (
    mix(
        "linear-input-on-cpu",
        "net = nn.Linear(3, 2).to(device)\nx = torch.ones(4, 3)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "linear-net-on-cpu",
        "net = nn.Linear(3, 2)\nx = torch.ones(4, 3, device=device)",
        "net(x)",
        "net.weight",
        "net.to(device)(x)",
        also_culprits=("net", "net.bias"),
    ),
    mix(
        "linear-three-dimensions",
        "net = nn.Linear(3, 2).to(device)\nx = torch.ones(4, 5, 3)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "linear-no-bias",
        "net = nn.Linear(3, 2, bias=False).to(device)\nx = torch.ones(4, 3)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "F.linear-bias-on-cpu",
        "x = torch.ones(4, 3, device=device)\nweight = torch.ones(2, 3, device=device)\n"
        "bias = torch.zeros(2)",
        "F.linear(x, weight, bias)",
        "bias",
        "F.linear(x, weight, bias.to(device))",
    ),
    mix(
        "linear-two-gpus",
        "net = nn.Linear(3, 2).to('cuda:1')\nx = torch.ones(4, 3, device='cuda:0')",
        "net(x)",
        "x",
        "net(x.to('cuda:1'))",
        also_culprits=("net", "net.weight"),
        gpus=2,
    ),
    mix(
        "bilinear",
        "net = nn.Bilinear(2, 2, 3).to(device)\na = torch.ones(4, 2)\n"
        "b = torch.ones(4, 2, device=device)",
        "net(a, b)",
        "a",
        "net(a.to(device), b)",
    ),
    mix(
        "conv2d-input-on-cpu",
        "net = nn.Conv2d(1, 2, 3).to(device)\nimages = torch.ones(4, 1, 8, 8)",
        "net(images)",
        "images",
        "net(images.to(device))",
    ),
    mix(
        "conv2d-net-on-cpu",
        "net = nn.Conv2d(1, 2, 3)\nimages = torch.ones(4, 1, 8, 8, device=device)",
        "net(images)",
        "net.weight",
        "net.to(device)(images)",
        also_culprits=("net", "net.bias"),
    ),
    mix(
        "conv2d-bias-on-cpu",
        "images = torch.ones(4, 1, 8, 8, device=device)\n"
        "kernels = torch.ones(2, 1, 3, 3, device=device)\nbias = torch.zeros(2)",
        "F.conv2d(images, kernels, bias)",
        "bias",
        "F.conv2d(images, kernels, bias.to(device))",
    ),
    mix(
        "conv1d-input-on-cpu",
        "net = nn.Conv1d(1, 2, 3).to(device)\nsignal = torch.ones(4, 1, 8)",
        "net(signal)",
        "signal",
        "net(signal.to(device))",
    ),
    mix(
        "conv1d-net-on-cpu",
        "net = nn.Conv1d(1, 2, 3)\nsignal = torch.ones(4, 1, 8, device=device)",
        "net(signal)",
        "net.weight",
        "net.to(device)(signal)",
        also_culprits=("net", "net.bias"),
    ),
    mix(
        "conv-transpose",
        "net = nn.ConvTranspose2d(2, 1, 2).to(device)\nx = torch.ones(1, 2, 4, 4)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "conv2d-two-gpus",
        "net = nn.Conv2d(1, 2, 3).to('cuda:1')\nimages = torch.ones(4, 1, 8, 8, device='cuda:0')",
        "net(images)",
        "images",
        "net(images.to('cuda:1'))",
        also_culprits=("net", "net.weight"),
        gpus=2,
    ),
    mix(
        "conv2d-half-on-cpu",
        "net = nn.Conv2d(1, 2, 3).to(device).half()\nimages = torch.ones(4, 1, 8, 8)",
        "net(images)",
        "images",
        "net(images.to(device).half())",
    ),
    mix(
        "batchnorm-net-on-cpu",
        "net = nn.BatchNorm2d(2)\nimages = torch.ones(4, 2, 3, 3, device=device)",
        "net(images)",
        "net.weight",
        "net.to(device)(images)",
        also_culprits=("net", "net.bias", "net.running_mean", "net.running_var"),
    ),
    mix(
        "batchnorm-input-on-cpu",
        "net = nn.BatchNorm2d(2).to(device)\nimages = torch.ones(4, 2, 3, 3)",
        "net(images)",
        "images",
        "net(images.to(device))",
    ),
    mix(
        "batchnorm-in-eval-mode",
        "net = nn.BatchNorm1d(2).to(device).eval()\nx = torch.ones(4, 2)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "layernorm-input-on-cpu",
        "net = nn.LayerNorm(3).to(device)\nx = torch.ones(4, 3)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "layernorm-net-on-cpu",
        "net = nn.LayerNorm(3)\nx = torch.ones(4, 3, device=device)",
        "net(x)",
        "net.weight",
        "net.to(device)(x)",
        also_culprits=("net", "net.bias"),
    ),
    mix(
        "groupnorm-net-on-cpu",
        "net = nn.GroupNorm(1, 2)\nx = torch.ones(4, 2, 3, device=device)",
        "net(x)",
        "net.weight",
        "net.to(device)(x)",
        also_culprits=("net", "net.bias"),
    ),
    mix(
        "prelu-net-on-cpu",
        "net = nn.PReLU(3)\nx = -torch.ones(4, 3, device=device)",
        "net(x)",
        "net.weight",
        "net.to(device)(x)",
        also_culprits=("net",),
    ),
    mix(
        "embedding-indices-on-cpu",
        "net = nn.Embedding(10, 4).to(device)\nwords = torch.tensor([1, 2, 3])",
        "net(words)",
        "words",
        "net(words.to(device))",
    ),
    mix(
        "embedding-net-on-cpu",
        "net = nn.Embedding(10, 4)\nwords = torch.tensor([1, 2, 3], device=device)",
        "net(words)",
        "net.weight",
        "net.to(device)(words)",
        also_culprits=("net",),
    ),
    mix(
        "embedding-bag",
        "net = nn.EmbeddingBag(10, 4).to(device)\nwords = torch.tensor([[1, 2], [3, 4]])",
        "net(words)",
        "words",
        "net(words.to(device))",
    ),
    mix(
        "lstm-input-on-cpu",
        "net = nn.LSTM(3, 4).to(device)\nx = torch.ones(5, 2, 3)",
        "net(x)",
        "x",
        "net(x.to(device))",
    ),
    mix(
        "lstm-hidden-on-cpu",
        "net = nn.LSTM(3, 4).to(device)\nx = torch.ones(5, 2, 3, device=device)\n"
        "hidden = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))",
        "net(x, hidden)",
        "hidden[0]",
        "net(x, tuple(h.to(device) for h in hidden))",
        also_culprits=("hidden", "hidden[1]"),
    ),
    mix(
        "lstm-net-on-cpu",
        "net = nn.LSTM(3, 4)\nx = torch.ones(5, 2, 3, device=device)",
        "net(x)",
        "net.weight_ih_l0",
        "net.to(device)(x)",
        also_culprits=("net", "net.weight_hh_l0", "net.bias_ih_l0", "net.bias_hh_l0"),
    ),
    mix(
        "gru-hidden-on-cpu",
        "net = nn.GRU(3, 4).to(device)\nx = torch.ones(5, 2, 3, device=device)\n"
        "hidden = torch.zeros(1, 2, 4)",
        "net(x, hidden)",
        "hidden",
        "net(x, hidden.to(device))",
    ),
    mix(
        "lstm-cell-hidden-on-cpu",
        "net = nn.LSTMCell(3, 4).to(device)\nx = torch.ones(2, 3, device=device)\n"
        "h = torch.zeros(2, 4)\nc = torch.zeros(2, 4)",
        "net(x, (h, c))",
        "h",
        "net(x, (h.to(device), c.to(device)))",
        also_culprits=("c", "(h, c)"),
    ),
    mix(
        "attention-query-on-cpu",
        "net = nn.MultiheadAttention(4, 2).to(device)\nq = torch.ones(3, 1, 4)\n"
        "k = torch.ones(3, 1, 4, device=device)",
        "net(q, k, k)",
        "q",
        "net(q.to(device), k, k)",
    ),
    mix(
        "attention-mask-on-cpu",
        "net = nn.MultiheadAttention(4, 2).to(device)\nx = torch.ones(3, 1, 4, device=device)\n"
        "mask = torch.zeros(3, 3)",
        "net(x, x, x, attn_mask=mask)",
        "mask",
        "net(x, x, x, attn_mask=mask.to(device))",
    ),
    mix(
        "scaled-dot-product-mask",
        "q = torch.ones(1, 2, 3, 4, device=device)\nmask = torch.ones(3, 3, dtype=torch.bool)",
        "F.scaled_dot_product_attention(q, q, q, attn_mask=mask)",
        "mask",
        "F.scaled_dot_product_attention(q, q, q, attn_mask=mask.to(device))",
    ),
    mix(
        "scaled-dot-product-key",
        "q = torch.ones(1, 2, 3, 4, device=device)\nk = torch.ones(1, 2, 3, 4)",
        "F.scaled_dot_product_attention(q, k, q)",
        "k",
        "F.scaled_dot_product_attention(q, k.to(device), q)",
    ),
    mix(
        "grid-sample",
        "images = torch.ones(1, 1, 4, 4, device=device)\ngrid = torch.zeros(1, 2, 2, 2)",
        "F.grid_sample(images, grid, align_corners=False)",
        "grid",
        "F.grid_sample(images, grid.to(device), align_corners=False)",
    ),
)

_OWN_MODULES: tuple[Case, ...] = (
    mix(
        "tensor-created-in-forward",
        "class Shift(nn.Module):\n    def forward(self, x):\n"
        "        shift = torch.tensor([1.0, 2.0, 3.0])\n        return x + shift\n\n"
        "net = Shift().to(device)\nx = torch.ones(4, 3, device=device)",
        "net(x)",
        "shift",
        "        shift = torch.tensor([1.0, 2.0, 3.0], device=x.device)",
        replaces="        shift = torch.tensor([1.0, 2.0, 3.0])",
        inside="        return x + shift",
    ),
    mix(
        "plain-attribute-is-not-a-buffer",
        "class Scale(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scale = torch.ones(3)\n\n    def forward(self, x):\n"
        "        return x * self.scale\n\n"
        "net = Scale().to(device)\nx = torch.ones(4, 3, device=device)",
        "net(x)",
        "self.scale",
        "        self.register_buffer('scale', torch.ones(3))",
        replaces="        self.scale = torch.ones(3)",
        inside="        return x * self.scale",
    ),
    mix(
        "layers-in-a-python-list",
        "class Tower(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]\n\n    def forward(self, x):\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n\n"
        "net = Tower().to(device)\nx = torch.ones(4, 3, device=device)",
        "net(x)",
        "layer.weight",
        "        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])",
        replaces="        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]",
        inside="            x = layer(x)",
        also_culprits=("layer", "layer.bias", "self.layers", "self.layers[0]"),
    ),
    mix(
        "positions-created-in-forward",
        "class Positions(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.table = nn.Embedding(8, 4)\n\n    def forward(self, x):\n"
        "        places = torch.arange(x.shape[1])\n        return x + self.table(places)\n\n"
        "net = Positions().to(device)\nx = torch.ones(2, 5, 4, device=device)",
        "net(x)",
        "places",
        "        places = torch.arange(x.shape[1], device=x.device)",
        replaces="        places = torch.arange(x.shape[1])",
        inside="        return x + self.table(places)",
    ),
    mix(
        "hidden-state-created-in-forward",
        "class Reader(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.rnn = nn.GRU(3, 4)\n\n    def forward(self, x):\n"
        "        h0 = torch.zeros(1, x.shape[1], 4)\n        return self.rnn(x, h0)\n\n"
        "net = Reader().to(device)\nx = torch.ones(5, 2, 3, device=device)",
        "net(x)",
        "h0",
        "        h0 = torch.zeros(1, x.shape[1], 4, device=x.device)",
        replaces="        h0 = torch.zeros(1, x.shape[1], 4)",
        inside="        return self.rnn(x, h0)",
    ),
    mix(
        "one-layer-left-behind",
        "net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))\nnet[0].to(device)\n"
        "x = torch.ones(5, 3, device=device)",
        "net(x)",
        "net[2].weight",
        "net.to(device)(x)",
        also_culprits=("net[2]", "net", "net.2.weight", "net[2].bias", "net.2.bias"),
    ),
    mix(
        "layer-added-after-the-move",
        "net = nn.Sequential(nn.Linear(3, 4)).to(device)\nnet.append(nn.Linear(4, 2))\n"
        "x = torch.ones(5, 3, device=device)",
        "net(x)",
        "net[1].weight",
        "net.append(nn.Linear(4, 2).to(device))",
        replaces="net.append(nn.Linear(4, 2))",
        also_culprits=("net[1]", "net", "net.1.weight", "net[1].bias", "net.1.bias"),
    ),
    mix(
        "tensor-to-without-assignment",
        "net = nn.Linear(3, 2).to(device)\nx = torch.ones(4, 3)\nx.to(device)",
        "net(x)",
        "x",
        "x = x.to(device)",
        replaces="x.to(device)",
    ),
    mix(
        "loop-over-batches",
        "net = nn.Linear(3, 2).to(device)\nbatches = [torch.ones(4, 3), torch.ones(4, 3)]\n"
        "def run():\n    for x in batches:\n        y = net(x)\n    return y\n",
        "run()",
        "x",
        "        y = net(x.to(device))",
        replaces="        y = net(x)",
        inside="        y = net(x)",
    ),
    mix(
        "batch-from-a-dictionary",
        "net = nn.Linear(3, 2).to(device)\nbatch = {'pixels': torch.ones(4, 3)}",
        "net(batch['pixels'])",
        "batch['pixels']",
        "net(batch['pixels'].to(device))",
        also_culprits=("batch",),
    ),
    mix(
        "batch-from-a-loader",
        "data = torch.utils.data.TensorDataset(torch.ones(4, 3), torch.tensor([0, 1, 0, 1]))\n"
        "loader = torch.utils.data.DataLoader(data, batch_size=2)\n"
        "net = nn.Linear(3, 2).to(device)\nX, y = next(iter(loader))",
        "net(X)",
        "X",
        "net(X.to(device))",
    ),
)

_LOSSES: tuple[Case, ...] = (
    mix(
        "cross-entropy-targets",
        _TARGETS,
        "F.cross_entropy(scores, targets)",
        "targets",
        "F.cross_entropy(scores, targets.to(device))",
    ),
    mix(
        "cross-entropy-scores",
        "scores = torch.zeros(2, 3)\ntargets = torch.tensor([0, 2], device=device)",
        "F.cross_entropy(scores, targets)",
        "scores",
        "F.cross_entropy(scores.to(device), targets)",
        also_culprits=("targets",),
    ),
    mix(
        "CrossEntropyLoss",
        f"{_TARGETS}\nloss = nn.CrossEntropyLoss()",
        "loss(scores, targets)",
        "targets",
        "loss(scores, targets.to(device))",
    ),
    mix(
        "cross-entropy-images",
        "scores = torch.zeros(1, 3, 2, 2, device=device)\n"
        "targets = torch.zeros(1, 2, 2, dtype=torch.long)",
        "F.cross_entropy(scores, targets)",
        "targets",
        "F.cross_entropy(scores, targets.to(device))",
    ),
    mix(
        "cross-entropy-probabilities",
        "scores = torch.zeros(2, 3, device=device)\ntargets = torch.ones(2, 3) / 3",
        "F.cross_entropy(scores, targets)",
        "targets",
        "F.cross_entropy(scores, targets.to(device))",
    ),
    mix(
        "cross-entropy-class-weights",
        "loss = nn.CrossEntropyLoss(weight=torch.ones(3))\n"
        "scores = torch.zeros(2, 3, device=device)\ntargets = torch.tensor([0, 2], device=device)",
        "loss(scores, targets)",
        "loss.weight",
        "loss.to(device)(scores, targets)",
        also_culprits=("loss",),
    ),
    mix(
        "nll-loss-targets",
        _TARGETS,
        "F.nll_loss(scores.log_softmax(1), targets)",
        "targets",
        "F.nll_loss(scores.log_softmax(1), targets.to(device))",
    ),
    mix(
        "mse-loss",
        _VALUES,
        "F.mse_loss(predicted, targets)",
        "targets",
        "F.mse_loss(predicted, targets.to(device))",
    ),
    mix(
        "MSELoss-swapped",
        f"{_VALUES}\nloss = nn.MSELoss()",
        "loss(targets, predicted)",
        "targets",
        "loss(targets.to(device), predicted)",
    ),
    mix(
        "l1-loss",
        _VALUES,
        "F.l1_loss(predicted, targets)",
        "targets",
        "F.l1_loss(predicted, targets.to(device))",
    ),
    mix(
        "smooth-l1-loss",
        _VALUES,
        "F.smooth_l1_loss(predicted, targets)",
        "targets",
        "F.smooth_l1_loss(predicted, targets.to(device))",
    ),
    mix(
        "binary-cross-entropy",
        "predicted = torch.full((2,), 0.5, device=device)\ntargets = torch.ones(2)",
        "F.binary_cross_entropy(predicted, targets)",
        "targets",
        "F.binary_cross_entropy(predicted, targets.to(device))",
    ),
    mix(
        "binary-cross-entropy-with-logits",
        _VALUES,
        "F.binary_cross_entropy_with_logits(predicted, targets)",
        "targets",
        "F.binary_cross_entropy_with_logits(predicted, targets.to(device))",
    ),
    mix(
        "kl-div",
        "predicted = torch.zeros(2, 3, device=device)\ntargets = torch.ones(2, 3)",
        "F.kl_div(predicted, targets, reduction='batchmean')",
        "targets",
        "F.kl_div(predicted, targets.to(device), reduction='batchmean')",
    ),
    mix(
        "accuracy",
        f"{_TARGETS}\npredicted = scores.argmax(1)",
        "(predicted == targets).sum()",
        "targets",
        "(predicted == targets.to(device)).sum()",
    ),
)

_OPTIMIZERS: tuple[Case, ...] = (
    mix(
        "momentum-left-on-cpu",
        "net = nn.Linear(3, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)\n"
        "net(torch.ones(2, 3)).sum().backward()\noptimizer.step()\nnet.to(device)\n"
        "optimizer.zero_grad()\nnet(torch.ones(2, 3, device=device)).sum().backward()",
        "optimizer.step()",
        "optimizer.state[net.weight]['momentum_buffer']",
        "optimizer.load_state_dict(optimizer.state_dict()); optimizer.step()",
        also_culprits=("optimizer", "optimizer.state"),
    ),
    mix(
        "adam-state-left-on-cpu",
        "net = nn.Linear(3, 1)\noptimizer = torch.optim.Adam(net.parameters())\n"
        "net(torch.ones(2, 3)).sum().backward()\noptimizer.step()\nnet.to(device)\n"
        "optimizer.zero_grad()\nnet(torch.ones(2, 3, device=device)).sum().backward()",
        "optimizer.step()",
        "optimizer.state[net.weight]['exp_avg']",
        "optimizer.load_state_dict(optimizer.state_dict()); optimizer.step()",
        also_culprits=("optimizer", "optimizer.state"),
    ),
    mix(
        "gradient-on-another-device",
        "w = torch.ones(3, device=device, requires_grad=True)\ngradient = torch.ones(3)",
        "w.grad = gradient",
        "gradient",
        "w.grad = gradient.to(device)",
    ),
    mix(
        "backward-with-cpu-gradient",
        "x = torch.ones(3, device=device, requires_grad=True)\ny = x * 2\ngradient = torch.ones(3)",
        "y.backward(gradient)",
        "gradient",
        "y.backward(gradient.to(device))",
    ),
    mix(
        "manual-weight-decay",
        "w = torch.ones(3, device=device, requires_grad=True)\ndecay = torch.full((3,), 0.1)\n"
        "loss = (w * w).sum()",
        "loss + (w * decay).sum()",
        "decay",
        "loss + (w * decay.to(device)).sum()",
    ),
    mix(
        "running-total-on-cpu",
        "totals = torch.zeros(3)\nscores = torch.ones(3, device=device)",
        "totals += scores",
        "scores",
        "totals += scores.cpu()",
        also_culprits=("totals",),
    ),
)

CASES: tuple[Case, ...] = (*_LAYERS, *_OWN_MODULES, *_LOSSES, *_OPTIMIZERS)
