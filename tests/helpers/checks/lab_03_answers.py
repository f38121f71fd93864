"""Right and wrong answers to lab 03, with the hint that each wrong one must get."""

import copy
import io
from contextlib import suppress

import torch
from torch import nn

from helpers.checks import lab_03
from helpers.checks.lab_03.exercise_2_ranker import GivenRanker
from helpers.checks.lab_03.exercise_4_recurrent import GivenRecurrent
from tests.helpers.checks.collection import Answers

answers = Answers(lab_03)

# Exercise 1: find_devices(net, optimizer)


@answers.right(1)
def with_comprehensions(net, optimizer):
    state_values = [value for entry in optimizer.state.values() for value in entry.values()]
    return {
        "parameters": {parameter.device for parameter in net.parameters()},
        "buffers": {buffer.device for buffer in net.buffers()},
        "state": {value.device for value in state_values if isinstance(value, torch.Tensor)},
    }


@answers.right(1)
def with_loops(net, optimizer):
    devices = {"parameters": set(), "buffers": set(), "state": set()}
    for module in net.modules():
        for tensor in module.parameters(recurse=False):
            devices["parameters"].add(tensor.device)
        for tensor in module.buffers(recurse=False):
            devices["buffers"].add(tensor.device)
    for entry in optimizer.state.values():
        for value in entry.values():
            if torch.is_tensor(value):
                devices["state"].add(value.device)
    return devices


@answers.right(1)
def by_state_dicts(net, optimizer):
    learned = {name for name, _ in net.named_parameters()}
    net_state = net.state_dict()
    state_values = optimizer.state_dict()["state"].values()
    values = [value for entry in state_values for value in entry.values()]
    return {
        "parameters": frozenset(net_state[name].device for name in learned),
        "buffers": frozenset(net_state[name].device for name in net_state if name not in learned),
        "state": frozenset(value.device for value in values if hasattr(value, "device")),
    }


@answers.wrong(1, "parameters-missing")
def checks_only_the_first_parameter(net, optimizer):
    return {**with_comprehensions(net, optimizer), "parameters": {next(net.parameters()).device}}


@answers.wrong(1, "parameters-missing")
def checks_only_the_outer_module(net, optimizer):
    outer = {parameter.device for parameter in net.parameters(recurse=False)}
    return {**with_comprehensions(net, optimizer), "parameters": outer}


@answers.wrong(1, "parameters-missing")
def checks_only_direct_children(net, optimizer):
    devices = {p.device for child in net for p in child.parameters(recurse=False)}
    return {**with_comprehensions(net, optimizer), "parameters": devices}


@answers.wrong(1, "buffers-missing")
def forgets_the_buffers(net, optimizer):
    return {**with_comprehensions(net, optimizer), "buffers": set()}


@answers.wrong(1, "buffers-missing")
def checks_only_the_first_buffer(net, optimizer):
    return {**with_comprehensions(net, optimizer), "buffers": {next(net.buffers()).device}}


@answers.wrong(1, "too-many")
def returns_parameters_as_buffers(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    return {**devices, "buffers": devices["parameters"]}


@answers.wrong(1, "state-missing")
def forgets_the_state(net, optimizer):
    return {**with_comprehensions(net, optimizer), "state": set()}


@answers.wrong(1, "state-missing")
def checks_only_momentum(net, optimizer):
    devices = {
        entry["momentum_buffer"].device
        for entry in optimizer.state.values()
        if "momentum_buffer" in entry
    }
    return {**with_comprehensions(net, optimizer), "state": devices}


@answers.wrong(1, "too-many")
def adds_the_parameters_to_the_state(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    groups = {p.device for group in optimizer.param_groups for p in group["params"]}
    return {**devices, "state": groups | devices["state"]}


@answers.wrong(1, "too-many")
def adds_the_cpu_to_the_buffers(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    everywhere = {torch.device("cpu"), *devices["parameters"], *devices["buffers"]}
    return {**devices, "buffers": everywhere}


@answers.wrong(1, "raised")
def assumes_that_every_value_is_a_tensor(net, optimizer):
    devices = set()
    for entry in optimizer.state.values():
        for value in entry.values():
            devices.add(value.device)
    return {**with_comprehensions(net, optimizer), "state": devices}


@answers.wrong(1, "raised")
def iterates_over_the_keys(net, optimizer):
    devices = set()
    for entry in optimizer.state.values():
        for value in entry:
            devices.add(value.device)
    return {**with_comprehensions(net, optimizer), "state": devices}


@answers.wrong(1, "raised")
def reads_the_device_of_the_optimizer(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    devices["state"] = [optimizer.device]
    return devices


@answers.wrong(1, "not-devices")
def returns_names_of_devices(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    return {kind: {str(device) for device in group} for kind, group in devices.items()}


@answers.wrong(1, "not-three-sets")
def returns_lists(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    return {kind: list(group) for kind, group in devices.items()}


@answers.wrong(1, "not-three-sets")
def returns_one_set(net, optimizer):
    return set().union(*with_comprehensions(net, optimizer).values())


@answers.wrong(1, "not-three-sets")
def uses_other_keys(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    return {
        "params": devices["parameters"],
        "buffers": devices["buffers"],
        "state": devices["state"],
    }


@answers.wrong(1, "no-result")
def prints_the_devices(net, optimizer):
    print(with_comprehensions(net, optimizer))


# Exercise 2: Ranker(features, classes)


class Scoring(nn.Module):
    def forward(self, X):
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads)


def two_heads(features, classes):
    return [nn.Linear(features, classes) for _ in range(2)]


@answers.right(2)
class WithBufferParameterAndList(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.right(2)
class WithNamedHeads(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.mean = nn.Buffer(torch.ones(features) / 2)
        self.register_parameter("gain", nn.Parameter(torch.ones(features)))
        self.heads = nn.ModuleDict(zip("ab", two_heads(features, classes), strict=True))

    def forward(self, X):
        X = (X - self.mean) * self.gain
        return sum(head(X) for head in self.heads.values())


@answers.right(2)
class WithAParameterThatIsNotLearned(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.mean = nn.Parameter(torch.full((features,), 0.5), requires_grad=False)
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList()
        for head in two_heads(features, classes):
            self.heads.append(head)


@answers.right(2)
class WithHeadsByName(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        for number, head in enumerate(two_heads(features, classes)):
            self.add_module(f"head_{number}", head)

    def forward(self, X):
        X = (X - self.mean) * self.gain
        return self.head_0(X) + self.head_1(X)


answers.wrong(2, "plain-tensor")(GivenRanker)


@answers.wrong(2, "plain-tensor")
class ForgetsTheGain(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = torch.ones(features)
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "plain-tensor")
class SetsRequiresGradOnly(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = torch.ones(features, requires_grad=True)
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "plain-tensor")
class MovesInEachCall(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.mean = torch.full((features,), 0.5)
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))

    def forward(self, X):
        X = (X - self.mean.to(X.device)) * self.gain
        return sum(head(X) for head in self.heads)


@answers.wrong(2, "hidden-layers")
class KeepsTheList(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = two_heads(features, classes)


@answers.wrong(2, "hidden-layers")
class KeepsATuple(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = tuple(two_heads(features, classes))


@answers.wrong(2, "mean-is-learned")
class LearnsTheMean(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.mean = nn.Parameter(torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "not-learned")
class RegistersTheGainAsABuffer(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.register_buffer("gain", torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "not-learned")
class FreezesTheGain(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features), requires_grad=False)
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "not-saved")
class LeavesTheMeanOutOfTheState(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5), persistent=False)
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "not-saved")
class StoresTheMeanAsANumber(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.mean = 0.5
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "different-scores")
class HasOneHeadOnly(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes)[:1])


@answers.wrong(2, "different-scores")
class InitializesTheGainAtRandom(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.rand(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "raised")
class ForgetsSuperInit(Scoring):
    def __init__(self, features, classes):
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "raised")
class RegistersAndAssigns(Scoring):
    def __init__(self, features, classes):
        super().__init__()
        self.mean = torch.full((features,), 0.5)
        self.register_buffer("mean", self.mean)
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList(two_heads(features, classes))


@answers.wrong(2, "not-a-module")
class IsNotAModule:
    def __init__(self, features, classes):
        self.mean = torch.full((features,), 0.5)


# Exercise 3: move_both(net, optimizer, device)


@answers.right(3)
def reloads_its_own_state(net, optimizer, device):
    net.to(device)
    optimizer.load_state_dict(optimizer.state_dict())


@answers.right(3)
def loads_a_copy(net, optimizer, device):
    state = copy.deepcopy(optimizer.state_dict())
    net = net.to(device)
    optimizer.load_state_dict(state)


@answers.right(3)
def moves_each_tensor(net, optimizer, device):
    net.to(device)
    for entry in optimizer.state.values():
        for key, value in entry.items():
            if isinstance(value, torch.Tensor):
                entry[key] = value.to(device)


@answers.right(3)
def moves_all_but_the_counters(net, optimizer, device):
    for parameter in net.parameters():
        parameter.data = parameter.data.to(device)
    for buffer in net.buffers():
        buffer.data = buffer.data.to(device)
    for parameter, entry in optimizer.state.items():
        for key in entry.keys() - {"step"}:
            entry[key] = entry[key].to(parameter.device)


@answers.wrong(3, "state-not-moved")
def moves_the_network_only(net, optimizer, device):
    net.to(device)


@answers.wrong(3, "state-not-moved")
def loads_before_it_moves(net, optimizer, device):
    optimizer.load_state_dict(optimizer.state_dict())
    net.to(device)


@answers.wrong(3, "state-not-moved")
def moves_and_drops_the_state(net, optimizer, device):
    net.to(device)
    for entry in optimizer.state.values():
        for value in entry.values():
            value.to(device)


@answers.wrong(3, "state-not-moved")
def creates_its_own_optimizer(net, optimizer, device):
    net.to(device)
    optimizer = type(optimizer)(net.parameters(), lr=0.05)
    optimizer.zero_grad()


@answers.wrong(3, "state-not-moved")
def moves_a_state_dict_only(net, optimizer, device):
    net.to(device)
    state = optimizer.state_dict()["state"]
    for number in state:
        state[number] = {key: value.to(device) for key, value in state[number].items()}


@answers.wrong(3, "state-lost")
def discards_the_optimizer_state(net, optimizer, device):
    net.to(device)
    optimizer.state.clear()


@answers.wrong(3, "settings-changed")
def calls_init_again(net, optimizer, device):
    net.to(device)
    optimizer.__init__(net.parameters(), lr=0.01)


@answers.wrong(3, "settings-changed")
def sets_one_rate_for_all(net, optimizer, device):
    net.to(device)
    optimizer.load_state_dict(optimizer.state_dict())
    for group in optimizer.param_groups:
        group["lr"] = 0.05


@answers.wrong(3, "state-changed")
def fills_the_state_with_zeros(net, optimizer, device):
    net.to(device)
    for entry in optimizer.state.values():
        for key, value in entry.items():
            entry[key] = torch.zeros_like(value, device=device)


@answers.wrong(3, "net-not-moved")
def moves_the_state_only(net, optimizer, device):
    for entry in optimizer.state.values():
        for key, value in entry.items():
            entry[key] = value.to(device)


@answers.wrong(3, "net-not-moved")
def moves_a_copy(net, optimizer, device):
    net = copy.deepcopy(net).to(device)
    optimizer.load_state_dict(optimizer.state_dict())


@answers.wrong(3, "net-not-moved")
def always_moves_to_the_gpu(net, optimizer, device):
    net.cuda()
    optimizer.load_state_dict(optimizer.state_dict())


@answers.wrong(3, "different-parameters")
def creates_new_parameters(net, optimizer, device):
    for module in net:
        for name, parameter in list(module.named_parameters()):
            setattr(module, name, nn.Parameter(parameter.detach().to(device)))
    net.to(device)
    optimizer.load_state_dict(optimizer.state_dict())


@answers.wrong(3, "weights-changed")
def resets_the_weights(net, optimizer, device):
    net.to(device)
    for module in net:
        module.reset_parameters()
        if isinstance(module, nn.BatchNorm1d):
            nn.init.constant_(module.weight, 3)
    optimizer.load_state_dict(optimizer.state_dict())


@answers.wrong(3, "raised")
def calls_to_on_the_optimizer(net, optimizer, device):
    net.to(device)
    optimizer.to(device)


@answers.wrong(3, "raised")
def expects_momentum(net, optimizer, device):
    net.to(device)
    for entry in optimizer.state.values():
        entry["momentum_buffer"] = entry["momentum_buffer"].to(device)


# Exercise 4: Recurrent(inputs, hidden)


class Stepping(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.inner = nn.Linear(inputs + hidden, hidden)

    def run_steps(self, sequence, state, order):
        steps = sequence.shape[1]
        sequence = sequence + order.reshape(-1, 1) / steps
        for step in range(steps):
            state = torch.tanh(self.inner(torch.cat([sequence[:, step], state], dim=1)))
        return state


@answers.right(4)
class CreatesOnTheDeviceOfTheInput(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden, device=sequence.device)
        return self.run_steps(sequence, state, torch.arange(steps, device=sequence.device))


@answers.right(4)
class CreatesLikeTheInput(Stepping):
    def forward(self, sequence):
        state = sequence.new_zeros(len(sequence), self.hidden)
        return self.run_steps(sequence, state, torch.ones_like(sequence[0, :, 0]).cumsum(0) - 1)


@answers.right(4)
class CreatesOnTheDeviceOfTheWeight(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        with self.inner.weight.device:
            return self.run_steps(sequence, torch.zeros(count, self.hidden), torch.arange(steps))


@answers.right(4)
class UsesABuffer(Stepping):
    def __init__(self, inputs, hidden):
        super().__init__(inputs, hidden)
        self.register_buffer("numbers", torch.arange(1000), persistent=False)

    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = self.numbers.new_zeros((count, self.hidden), dtype=sequence.dtype)
        return self.run_steps(sequence, state, self.numbers[:steps])


answers.wrong(4, "device-error")(GivenRecurrent)


@answers.wrong(4, "device-error")
class ForgetsTheOrder(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden, device=sequence.device)
        return self.run_steps(sequence, state, torch.arange(steps))


@answers.wrong(4, "device-error")
class StoresTheDeviceInInit(Stepping):
    def __init__(self, inputs, hidden):
        super().__init__(inputs, hidden)
        self.device = self.inner.weight.device

    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden, device=self.device)
        return self.run_steps(sequence, state, torch.arange(steps, device=self.device))


@answers.wrong(4, "input-changed")
class AddsTheOrderInPlace(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = sequence.new_zeros(count, self.hidden)
        sequence += torch.arange(steps, device=sequence.device).reshape(-1, 1) / steps
        order = torch.zeros(steps, device=sequence.device)
        return self.run_steps(sequence, state, order)


@answers.wrong(4, "different-scores")
class ContinuesFromTheLastCall(Stepping):
    state = None

    def forward(self, sequence):
        count, steps, _ = sequence.shape
        if self.state is None or self.state.shape[0] != count:
            self.state = sequence.new_zeros(count, self.hidden)
        order = torch.arange(steps, device=sequence.device)
        self.state = self.run_steps(sequence, self.state, order).detach()
        return self.state


@answers.wrong(4, "one-device-only")
class StoresTheDeviceInTheFirstCall(Stepping):
    device = None

    def forward(self, sequence):
        count, steps, _ = sequence.shape
        self.device = self.device or sequence.device
        state = torch.zeros(count, self.hidden, device=self.device)
        return self.run_steps(sequence, state, torch.arange(steps, device=self.device))


@answers.wrong(4, "one-device-only")
class HardCodesTheGpu(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden, device="cuda")
        return self.run_steps(sequence, state, torch.arange(steps, device="cuda"))


@answers.wrong(4, "one-device-only")
class ChoosesTheGpuIfAvailable(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return self.run_steps(
            sequence,
            torch.zeros(count, self.hidden, device=device),
            torch.arange(steps, device=device),
        )


@answers.wrong(4, "one-device-only")
class CallsCuda(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        return self.run_steps(
            sequence, torch.zeros(count, self.hidden).cuda(), torch.arange(steps).cuda()
        )


@answers.wrong(4, "copied")
class CreatesOnTheCpuAndMoves(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden).to(sequence.device)
        return self.run_steps(sequence, state, torch.arange(steps).to(sequence.device))


@answers.wrong(4, "copied")
class MovesOneOfTwo(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden, device=sequence.device)
        return self.run_steps(sequence, state, torch.arange(steps).to(sequence))


@answers.wrong(4, "device-error")
class MovesTheSequenceToTheCpu(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        return self.run_steps(sequence.cpu(), torch.zeros(count, self.hidden), torch.arange(steps))


@answers.wrong(4, "net-moved")
class MovesItselfToTheCpu(Stepping):
    def forward(self, sequence):
        count, steps, _ = sequence.shape
        self.cpu()
        return self.run_steps(sequence.cpu(), torch.zeros(count, self.hidden), torch.arange(steps))


@answers.wrong(4, "result-elsewhere")
class MovesTheResultToTheCpu(CreatesOnTheDeviceOfTheInput):
    def forward(self, sequence):
        return super().forward(sequence).cpu()


@answers.wrong(4, "raised")
class AssumesOneBatchSize(Stepping):
    def __init__(self, inputs, hidden):
        super().__init__(inputs, hidden)
        self.register_buffer("state", torch.zeros(32, hidden))

    def forward(self, sequence):
        order = torch.arange(sequence.shape[1], device=sequence.device)
        return self.run_steps(sequence, self.state, order)


@answers.wrong(4, "different-scores")
class UsesZerosAsOrder(Stepping):
    def forward(self, sequence):
        state = sequence.new_zeros(len(sequence), self.hidden)
        return self.run_steps(sequence, state, sequence.new_zeros(sequence.shape[1]))


@answers.wrong(4, "no-result")
class ForgetsToReturn(CreatesOnTheDeviceOfTheInput):
    def forward(self, sequence):
        super().forward(sequence)


# Exercise 5: save_checkpoint(path, net, optimizer, epoch), load_checkpoint(path, net, optimizer)


def save(path, net, optimizer, epoch):
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path)


def load(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


def as_save(f):
    return f, load


def as_load(f):
    return save, f


@answers.right(5, arguments=as_load)
def to_the_cpu_first(path, net, optimizer):
    return load(path, net, optimizer)


@answers.right(5, arguments=as_load)
def to_the_networks_device(path, net, optimizer):
    device = next(net.parameters()).device
    state = torch.load(path, map_location=device)
    optimizer.load_state_dict(state["optimizer"])
    net.load_state_dict(state["net"])
    return state["epoch"]


@answers.right(5, arguments=lambda f: (f, load_a_tuple))
def saves_a_tuple_from_the_cpu(path, net, optimizer, epoch):
    weights = {name: tensor.cpu() for name, tensor in net.state_dict().items()}
    torch.save((epoch, weights, optimizer.state_dict()), str(path))


def load_a_tuple(path, net, optimizer):
    epoch, weights, state = torch.load(path, map_location=lambda storage, device: storage)
    net.load_state_dict(weights)
    optimizer.load_state_dict(state)
    return epoch


@answers.wrong(5, "whole-objects", arguments=lambda f: (f, load_whole_objects))
def saves_and_loads_whole_objects(path, net, optimizer, epoch):
    with path.open("wb") as file:
        torch.save([net, optimizer, epoch], file)


def load_whole_objects(path, net, optimizer):
    saved, state, epoch = torch.load(path, map_location="cpu", weights_only=False)
    net.load_state_dict(saved.state_dict())
    optimizer.load_state_dict(state.state_dict())
    return epoch


@answers.wrong(5, "needs-its-gpu", arguments=as_load)
def omits_map_location(path, net, optimizer):
    state = torch.load(path)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "needs-its-gpu", arguments=as_load)
def loads_to_the_gpu(path, net, optimizer):
    state = torch.load(path, map_location="cuda")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "needs-its-gpu", arguments=lambda f: (f, omits_map_location))
def moves_the_network_only_before_saving(path, net, optimizer, epoch):
    weights = {name: tensor.cpu() for name, tensor in net.state_dict().items()}
    state = {"net": weights, "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path)


@answers.wrong(5, "optimizer-not-restored", arguments=as_load)
def forgets_the_optimizer(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    return state["epoch"]


@answers.wrong(5, "optimizer-not-restored", arguments=as_load)
def loads_into_a_copy_of_the_optimizer(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    optimizer = copy.deepcopy(optimizer)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "weights-not-loaded", arguments=as_load)
def loads_into_a_copy(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    copy.deepcopy(net).load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "weights-not-loaded", arguments=as_load)
def reads_the_epoch_only(path, net, optimizer):
    return torch.load(path, map_location="cpu")["epoch"]


@answers.wrong(5, "buffers-not-restored", arguments=lambda f: (f, load_parameters))
def saves_the_parameters_only(path, net, optimizer, epoch):
    weights = dict(net.named_parameters())
    torch.save({"net": weights, "optimizer": optimizer.state_dict(), "epoch": epoch}, path)


def load_parameters(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "wrong-epoch", arguments=as_load)
def returns_the_next_epoch(path, net, optimizer):
    return load(path, net, optimizer) + 1


@answers.wrong(5, "wrong-epoch", arguments=as_load)
def returns_nothing(path, net, optimizer):
    load(path, net, optimizer)


@answers.wrong(5, "wrong-epoch", arguments=as_save)
def always_saves_epoch_0(path, net, optimizer, epoch):
    save(path, net, optimizer, 0)


@answers.wrong(5, "no-file", arguments=as_save)
def saves_next_to_the_path(path, net, optimizer, epoch):
    save(f"{path}h", net, optimizer, epoch)


@answers.wrong(5, "no-file", arguments=as_save)
def saves_into_memory(path, net, optimizer, epoch):
    save(io.BytesIO(), net, optimizer, epoch)


@answers.wrong(5, "whole-objects", arguments=as_save)
def saves_whole_objects(path, net, optimizer, epoch):
    torch.save({"net": net, "optimizer": optimizer, "epoch": epoch}, path)


@answers.wrong(5, "net-moved", arguments=as_load)
def assigns_tensors_from_the_cpu(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"], assign=True)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "state-not-moved", arguments=as_load)
def assigns_the_state_without_moving_it(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, entry in state["optimizer"]["state"].items():
        optimizer.state[parameters[number]] = entry
    for group, saved in zip(
        optimizer.param_groups, state["optimizer"]["param_groups"], strict=True
    ):
        group.update({key: value for key, value in saved.items() if key != "params"})
    return state["epoch"]


@answers.wrong(5, "weights-not-loaded", arguments=as_load)
def ignores_the_error(path, net, optimizer):
    with suppress(RuntimeError):
        return omits_map_location(path, net, optimizer)


@answers.wrong(5, "raised", arguments=as_save)
def uses_other_names(path, net, optimizer, epoch):
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, path)


@answers.wrong(5, "not-written", arguments=as_load)
def leaves_the_second_stub(path, net, optimizer):
    raise NotImplementedError("exercise 5: write load_checkpoint")


@answers.wrong(5, "empty-file", arguments=as_save)
def only_creates_the_file(path, net, optimizer, epoch):
    path.touch()


MEMORY = {}


@answers.wrong(5, "not-saved-in-file", arguments=lambda f: (f, load_from_memory))
def keeps_the_checkpoint_in_memory(path, net, optimizer, epoch):
    MEMORY.update(copy.deepcopy({"net": net.state_dict(), "optimizer": optimizer.state_dict()}))
    MEMORY["epoch"] = epoch
    path.touch()


def load_from_memory(path, net, optimizer):
    net.load_state_dict(MEMORY["net"])
    optimizer.load_state_dict(MEMORY["optimizer"])
    return MEMORY["epoch"]


@answers.wrong(5, "not-saved-in-file", arguments=lambda f: (f, load_with_global_epoch))
def keeps_the_epoch_in_a_global(path, net, optimizer, epoch):
    MEMORY["epoch"] = epoch
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, path)


def load_with_global_epoch(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return MEMORY["epoch"]


@answers.wrong(5, "raised", arguments=lambda f: (f, load_by_path))
def loads_from_memory_by_path(path, net, optimizer, epoch):
    save(path, net, optimizer, epoch)
    MEMORY[str(path)] = torch.load(path, weights_only=True)


def load_by_path(path, net, optimizer):
    state = MEMORY[str(path)]
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


@answers.wrong(5, "settings-not-restored", arguments=as_load)
def keeps_the_learning_rate_of_the_new_optimizer(path, net, optimizer):
    rates = [group["lr"] for group in optimizer.param_groups]
    epoch = load(path, net, optimizer)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    return epoch


@answers.wrong(5, "rounded", arguments=as_save)
def saves_the_weights_as_float16(path, net, optimizer, epoch):
    weights = {
        name: tensor.half() if tensor.is_floating_point() else tensor
        for name, tensor in net.state_dict().items()
    }
    torch.save({"net": weights, "optimizer": optimizer.state_dict(), "epoch": epoch}, path)


@answers.wrong(5, "mode-changed", arguments=as_load)
def leaves_the_network_in_evaluation_mode(path, net, optimizer):
    epoch = load(path, net, optimizer)
    net.eval()
    return epoch


@answers.wrong(5, "mode-changed", arguments=as_save)
def switches_to_evaluation_mode_to_save(path, net, optimizer, epoch):
    save(path, net.eval(), optimizer, epoch)


@answers.wrong(5, "mode-changed-to-training", arguments=as_load)
def switches_to_training_mode_after_loading(path, net, optimizer):
    epoch = load(path, net, optimizer)
    net.train()
    return epoch
