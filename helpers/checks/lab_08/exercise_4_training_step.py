"""Lab 08, exercise 4: one step in mixed precision."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.plain import is_equal, is_tensor

answers = "training_step(net, optimizer, scaler, X, y, max_norm)"
points = 4
success = "Scaled, unscaled, clipped, and skipped where it overflows."
section = "Gradients that vanish"

MAX_NORM, RATE = 0.4, 0.1
LARGE_NORM = 1000.0  # larger than the norm of any gradient here
# Gradients that remain after a step are multiplied by this, so that they visibly affect the next.
LEFTOVER_FACTOR = 100


def cases(draw):
    batches = [(4 * draw.normal(8, 4).values, draw.integers(0, 3, (8,)).values) for _ in "12"]
    yield {"seed": draw.randrange(2**31), "device": draw.device, "batches": batches}


def make_net(case):
    torch.manual_seed(case.seed)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


class Scaler(torch.amp.GradScaler):
    """A gradient scaler that records which of its methods were called."""

    def __init__(self):
        super().__init__("cuda", init_scale=1024.0)
        self.calls = set()

    def __getattribute__(self, name):
        if name in ("scale", "step", "update"):
            self.calls.add(name)
        return super().__getattribute__(name)


def collect(call, case, training_step):
    batches = [(X.to(case.device), y.to(case.device)) for X, y in case.batches]
    dtypes, in_backward, losses = [], [], []

    def start():
        net = make_net(case).to(case.device)
        return net, torch.optim.SGD(net.parameters(), lr=RATE), Scaler()

    net, optimizer, scaler = start()
    net[0].register_forward_hook(lambda layer, given, result: dtypes.append(result.dtype))
    net[0].weight.register_hook(
        lambda gradient: in_backward.append(torch.is_autocast_enabled("cuda"))
    )
    for X, y in batches:
        facts = call(training_step, net, optimizer, scaler, X.clone(), y, MAX_NORM)
        losses.append(facts.value)
        # Without an update, the scaler raises an error in the second step.
        if scaler.calls < {"scale", "step", "update"}:
            return facts.add(called=scaler.calls, dtypes=dtypes)
        for parameter in net.parameters():
            if parameter.grad is not None:
                parameter.grad *= 1024.0 * LEFTOVER_FACTOR
    facts.add(called=scaler.calls, dtypes=dtypes, in_backward=in_backward, losses=losses, net=net)
    scale, (X, y) = scaler.get_scale(), batches[0]
    call(training_step, net, optimizer, scaler, X * 1e6, y, MAX_NORM)
    facts.add(skipped=net, scale=scale, new_scale=scaler.get_scale())
    net, optimizer, scaler = start()
    call(training_step, net, optimizer, scaler, X, y, LARGE_NORM)
    return facts.add(unclipped=net)


def train(case, steps=2, max_norm=MAX_NORM, leftover=0):
    """Return the weights after steps in fp32, and the losses; optionally with a mistake."""
    net, losses = make_net(case), []
    for X, y in case.batches[:steps]:
        for parameter in net.parameters():
            parameter.grad = parameter.grad * leftover if leftover and losses else None
        losses.append(F.cross_entropy(net(X), y))
        losses[-1].backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= RATE * parameter.grad
    return [parameter.detach() for parameter in net.parameters()], losses


def difference(first, second):
    return max((a - b).abs().max().item() for a, b in zip(first, second, strict=True))


def is_near(f, weights, expected):
    """Return whether weights differ from the expected ones by less than 5% of the steps."""
    tolerance = 0.05 * difference(expected, make_net(f.case).parameters())
    return difference(weights, expected) < tolerance


def moved(f):
    return difference(f.net.weights, make_net(f.case).parameters())


def has_weights(f, **mistake):
    return is_near(f, f.net.weights, train(f.case, **mistake)[0])


def each_loss(f, is_wrong):
    """Return whether one of the losses is wrong."""
    return any(
        is_wrong(loss, loss.values.float().item(), expected.item())
        for loss, expected in zip(f.losses, train(f.case)[1], strict=True)
    )


returns = ("not-a-tensor", lambda value, case: is_tensor(value) and value.shape == ())
side_effects = {
    "not-scaled": lambda f: "scale" not in f.called,
    "plain-step": lambda f: "step" not in f.called,
    "no-update": lambda f: "update" not in f.called,
    "no-forward": lambda f: not f.dtypes,
    "in-evaluation-mode": lambda f: not f.net.modes[""],
    "no-autocast": lambda f: f.dtypes[0] == torch.float32,
    "different-precision": lambda f: f.dtypes[0] != torch.float16 and {"found": f.dtypes[0]},
    "backward-inside": lambda f: any(f.in_backward),
    "weights-unchanged": lambda f: moved(f) == 0,
    "clipped-before-unscaling": lambda f: (
        moved(f) < 0.05 * difference(train(f.case)[0], make_net(f.case).parameters())
    ),
    "no-clip": lambda f: has_weights(f, max_norm=LARGE_NORM) and not has_weights(f),
    "gradients-kept": lambda f: has_weights(f, leftover=LEFTOVER_FACTOR),
    "different-weights": lambda f: not has_weights(f),
    "loss-in-half-precision": lambda f: f.value.dtype != torch.float32 and {"found": f.value.dtype},
    "scaled-loss": lambda f: each_loss(f, lambda loss, value, expected: value >= 100 * expected),
    "different-loss": lambda f: each_loss(
        f, lambda loss, value, expected: not abs(value - expected) <= 0.05 * expected
    ),
    "loss-has-graph": lambda f: f.value.requires_grad,
    "not-skipped": lambda f: not is_equal(f.net.parameters, f.skipped.parameters),
    "scale-kept": lambda f: f.new_scale != f.scale / 2 and {"found": f.new_scale},
    "always-clipped": lambda f: (
        not is_near(f, f.unclipped.weights, train(f.case, steps=1, max_norm=LARGE_NORM)[0])
    ),
}
hints = """
not-a-tensor: `training_step` returns {what}, but it should return the loss as a tensor with one
    number.
    -> A Python number would make the CPU wait for the GPU in each step.
not-scaled: `scaler.scale` was never called: the backward pass starts from the plain loss.
    -> Which tensor does `backward()` start from?
plain-step: `scaler.step` was never called.
    -> What decides whether an update is skipped, and how does it reach the optimizer?
no-update: `scaler.update` was never called, so the scale never changes.
    -> What happens after each step, whether it was skipped or not?
no-forward: The network was never called.
    -> Call the network on `X`, as in `net(X)`.
in-evaluation-mode: After `training_step`, the network is in evaluation mode: in the next step,
    dropout would be off.
    -> The network is already in training mode. Which line changes it?
no-autocast: The first layer returns float32.
    -> Which block chooses the dtype of each operation, and is the forward pass inside it?
    see: Autocast: which operation runs in what
different-precision: The first layer returns {found}, but this step is for fp16.
    -> Which dtype do you pass to `torch.autocast`, and do you cast any tensor too?
    see: Autocast: which operation runs in what
backward-inside: The backward pass runs under autocast.
    -> Which lines belong in the autocast block, and where does it end?
    see: Autocast: which operation runs in what
weights-unchanged: After two steps, the weights are the same as before.
    -> Do the gradients reach the optimizer, and are they finite?
clipped-before-unscaling: After two steps, the weights have hardly moved: the updates are far too
    small.
    -> Clip the gradients when they have their true size. What restores it?
no-clip: The weights are those of training without clipping.
    -> Clip the gradients between `backward()` and the optimizer's step.
gradients-kept: The first step is right, but the second one also uses the gradients of the first.
    -> `backward()` adds to the gradients. When are they cleared?
different-weights: After two steps, the weights are not those of the same steps in fp32.
    -> Write down what happens to the gradients, line by line: scaled, unscaled, clipped.
loss-in-half-precision: The loss is {found}, accurate to about three digits.
    -> Autocast computes losses in fp32 if they are inside its block.
    see: Autocast: which operation runs in what
scaled-loss: The loss that you return is multiplied by the loss scale.
    -> Keep the plain loss in a variable of its own.
different-loss: The loss that you return is not the mean cross-entropy of the batch.
    -> Which loss does the exercise ask for?
loss-has-graph: The loss that you return still has its graph.
    -> A list of such losses keeps every step's graph in memory. Which method cuts a tensor off from
    it?
not-skipped: If a batch overflows, your step changes the weights.
    -> Let `scaler.step` decide. Does your code change gradients that are infinite?
scale-kept: After an overflow, the scale should be half of what it was, but it is {found}.
    -> Do you call `scaler.update` after every step, and leave its argument out?
always-clipped: If the norm of the gradients is already below `max_norm`, the weights are not those
    of a step without clipping.
    -> `max_norm` is a limit. What should happen to gradients below it?
"""
