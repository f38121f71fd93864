"""Lab 03, exercise 3: network and optimizer move, and nothing is lost."""

import torch

from helpers.checks.lab_03.shared import (
    build,
    changed_setting,
    contents,
    state_left_behind,
    take_steps,
)
from helpers.checks.plain import are_close, first, is_close

answers = "move_both(net, optimizer, device)"
points = 3
success = "Network and optimizer move together, and training continues."
section = "Gradients and the optimizer"


def cases(draw):
    gpu, cpu = draw.device, "cpu"
    rows = [("SGD", cpu, gpu, 2), ("Adam", cpu, gpu, 2), ("Adam", gpu, cpu, 2)]
    rows += [("SGD", *draw.devices[:2], 2), ("SGD", cpu, gpu, 0)]
    for name, source, target, steps in rows:
        case = {"name": name, "source": source, "wanted": target, "steps": steps}
        yield {**case, "seed": draw.randrange(2**31), "batch": draw.normal(6, 4)}


def collect(call, case, move_both):
    net, optimizer = build(case, case.source)
    batch = case.batch.values
    take_steps(net, optimizer, batch.to(case.source), case.steps)
    facts = call(move_both, net, optimizer, torch.device(case.wanted))
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    facts.add(moved=net, same=[*map(id, parameters)] == [*map(id, net.parameters())])
    facts.add(**contents(optimizer))
    if facts.moved.devices == [case.wanted] and not state_left_behind(facts.state, case.wanted):
        take_steps(net, optimizer, batch.to(case.wanted), 2)
    return facts.add(trained=net)


def twin(case, steps):
    net, optimizer = build(case)
    take_steps(net, optimizer, case.batch.values, steps)
    return net, contents(optimizer)


def lost(f):
    state = twin(f.case, f.case.steps)[1]["state"]
    return first(key not in f.state and {"entry": key.split()[1]} for key in state)


def changed(f):
    state = twin(f.case, f.case.steps)[1]["state"]
    keys = [key for key, value in state.items() if not is_close(f.state[key], value, 1e-3, 1e-7)]
    if not are_close(f.trained, twin(f.case, f.case.steps + 2)[0].parameters(), 1e-2, 1e-2):
        keys.append("the state")
    return first({"entry": key.split()[1]} for key in keys)


side_effects = {
    "net-not-moved": lambda f: (
        f.moved.devices != [f.case.wanted] and {"name": "move_both", "found": f.moved.devices[0]}
    ),
    "weights-changed": lambda f: (
        not are_close(f.moved, twin(f.case, f.case.steps)[0].parameters(), 1e-3, 1e-7)
    ),
    "different-parameters": lambda f: not f.same,
    "settings-changed": lambda f: changed_setting(f.settings, twin(f.case, 0)[1]["settings"]),
    "state-lost": lost,
    "state-not-moved": lambda f: state_left_behind(f.state, f.case.wanted),
    "state-changed": changed,
}
hints = """
net-not-moved: You asked for {wanted}, but after `{name}` the network is on {found}.
    -> Move the network that was passed in, to the device that was passed in.
    see: Modules move in place, tensors do not
state-lost: `{entry}` is no longer in the optimizer's state.
    -> A new optimizer starts with an empty state. You can move the state of the existing one.
state-changed: After the move, `{entry}` in the optimizer's state contains different numbers.
    -> Move the values without changing them. What did you put in their place?
different-parameters: After the move, the optimizer's parameters are no longer those of the network.
    -> If a move creates new `Parameter` objects, the optimizer keeps the old ones. Which move keeps
    the objects?
    see: Modules move in place, tensors do not
settings-changed: After the move, the optimizer's `{key}` is {found}; it was {given}.
    -> Each parameter group has its own settings. Do you create or overwrite them?
weights-changed: After the move, the network's weights are different.
    -> A move changes where the numbers are. What else does your function do to them?
    see: Modules move in place, tensors do not
"""
