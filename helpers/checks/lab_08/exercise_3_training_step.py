"""Lab 08, exercise 3: one step in mixed precision."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.plain import are_close, first, is_equal, is_tensor

answers = "training_step(net, optimizer, scaler, X, y, max_norm)"
points = 4
success = "Scaled, unscaled, clipped, and skipped where it overflows."
section = "Gradients that vanish"
RATE, HALF = 0.1, torch.float16


def cases(draw):
    for max_norm in (0.1, 1000.0):  # smaller and larger than the norm of any gradient here
        batches = [(2 * draw.normal(8, 4).values, draw.integers(0, 3, (8,)).values) for _ in "12"]
        case = {"batches": batches, "max_norm": max_norm, "device": draw.device}
        yield case | {"seed": draw.randrange(2**31)}


def make_net(case, dtypes):
    torch.manual_seed(case.seed)
    # Without the kink of a ReLU: there, fp16's rounding could switch a whole gradient on or off.
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))

    def halve(layer, inputs, result):
        dtypes.append(result.dtype)
        # Shows in the weights if the network is not called, or is not in training mode.
        return result / 2 if layer.training else result

    net[0].register_forward_hook(halve)
    return net


def collect(call, case, training_step):
    dtypes, in_backward, losses, scores = [], [], [], {}
    net = make_net(case, dtypes).to(case.device)
    net[0].weight.register_hook(lambda _: in_backward.append(torch.is_autocast_enabled("cuda")))
    # Also called by `net.forward(X)`, which skips the hooks of the network itself.
    net[2].register_forward_hook(lambda *x: scores.update({len(losses): x[2]} | scores))
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)

    def step(X, y):
        batch = X.to(case.device), y.to(case.device)
        return call(training_step, net, optimizer, scaler, *batch, case.max_norm)

    for X, y in case.batches:
        facts = step(X, y)
        losses.append(facts.value)
        for parameter in (p for p in net.parameters() if p.grad is not None):
            parameter.grad *= 100_000  # Gradients that remain visibly affect the next step.
    facts.add(dtypes=dtypes, in_backward=in_backward, losses=losses, net=net, scores=scores)
    facts.add(scale=scaler.get_scale())
    step(1e6 * X, y)
    return facts.add(skipped=net, new_scale=scaler.get_scale())


def train(case):
    """Return the weights before and after two steps in fp32."""
    net = make_net(case, [])
    before = nn.utils.parameters_to_vector(net.parameters()).detach()
    for X, y in case.batches:
        net.zero_grad()
        F.cross_entropy(net(X), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), case.max_norm)
        torch.optim.SGD(net.parameters(), lr=RATE).step()
    return before, nn.utils.parameters_to_vector(net.parameters()).detach()


def distance(f):
    """Return the largest distance of a weight to the right one, relative to the largest step."""
    before, after = train(f.case)
    found = nn.utils.parameters_to_vector(f.net.weights)
    return (found - after).abs().max() / (after - before).abs().max()


def exact_losses(f):
    scores = (x.values.float() for x in f.scores.values())
    return map(F.cross_entropy, scores, (y for _, y in f.case.batches))


returns = ("not-a-loss", lambda x, case: is_tensor(x) and x.dtype == torch.float32 and not x.shape)
side_effects = {
    "different-precision": lambda f: first(x != HALF and {"found": x} for x in f.dtypes),
    "backward-inside": lambda f: any(f.in_backward),
    "not-skipped": lambda f: not is_equal(f.net.parameters, f.skipped.parameters),
    "different-weights": lambda f: not distance(f) < 0.05,
    "different-loss": lambda f: not are_close(f.losses, exact_losses(f), rtol=1e-5, atol=1e-6),
    "loss-has-graph": lambda f: f.value.requires_grad,
    "scale-kept": lambda f: f.new_scale != f.scale / 2 and {"found": f.new_scale},
}
hints = """
not-a-loss: `training_step` returns {what}, but the loss should be one number in a float32 tensor.
    -> A Python number would make the CPU wait. Is the loss computed in the autocast block?
different-precision: The first layer returns {found}, but this step is for fp16.
    -> Which dtype do you pass to `torch.autocast`, and do you cast any tensor too?
    see: Autocast: which operation runs in what
backward-inside: The backward pass runs under autocast.
    -> Which lines belong in the autocast block, and where does it end?
    see: Autocast: which operation runs in what
not-skipped: If a batch overflows, your step changes the weights.
    -> Let `scaler.step` decide. Does your code change gradients that are infinite?
different-weights: After two steps, the weights are not those of the same steps in fp32.
    -> Write down what happens to the gradients, line by line: cleared, scaled, unscaled, clipped.
different-loss: The loss that you return is not the batch's mean cross-entropy, in float32.
    -> Which loss does the exercise ask for? Is a part of it computed in fp16?
loss-has-graph: The loss that you return still has its graph.
    -> A list of such losses keeps every step's graph. Which method cuts a tensor off from it?
scale-kept: After an overflow, the scale should be half of what it was, but it is {found}.
    -> Is it the given `scaler` that you update after every step, without an argument?
"""
