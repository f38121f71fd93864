"""Fit the clock of the simulated GPU to published measurements, and report how well it predicts.

    python -m tools.fit_clock DATA            print the table of errors, and write the scatter plots
    python -m tools.fit_clock DATA --write    also write simulated_cuda/clock_constants.toml
    python -m tools.fit_clock DATA --leave-out   also predict each card from the others

DATA is a folder with the files that docs/the_clock.md names. Half of each kind of measurements is
used to fit the constants, the other half to report. The networks come from timm, without weights;
their operations are recorded once and kept in build/clock. Needs scipy and timm,
which the course does not install.
"""

import argparse
import copy
import csv
import dataclasses
import math
import pickle
import random
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import torch
from scipy.optimize import least_squares
from torch.nn import functional as F

import simulated_cuda
from simulated_cuda.cards import Card, find_card
from simulated_cuda.kernel_time import Constants, kernel_seconds
from simulated_cuda.machine import Machine
from simulated_cuda.work import Work

ROOT = Path(__file__).parents[1]
CONSTANTS = ROOT / "simulated_cuda" / "clock_constants.toml"
STAGES = ROOT / "tools" / "clock_stages.toml"
CACHE = ROOT / "build" / "clock"
# Tensors that an element-wise operation reads and writes.
_TENSORS = {"add": 3, "mul": 3, "div": 3, "pow": 3}
_ELEMENTWISE = ("add", "mul", "div", "pow", "addu", "mulu", "divu", "powu", "relu", "gelu", "tanh")


@dataclasses.dataclass(frozen=True)
class Observation:
    """One published time, and the work that was timed.

    `kind` is its row in the table, `offset` names the time that launching and measuring took, which
    is fitted for each card and operation, and `launches` the operations that Python launched.
    """

    kind: str
    card: Card
    works: tuple[tuple[Work, int], ...]
    seconds: float
    offset: str = ""
    launches: float = 0.0
    name: str = ""


def read_operators(path: Path, count: int) -> list[Observation]:
    """Return up to `count` observations of each operation on each card."""
    table = pyarrow.parquet.read_table(path).to_pylist()
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in table:
        groups.setdefault((row["op"], row["gpu"]), []).append(row)
    observations = []
    for (op, gpu), rows in groups.items():
        for row in random.Random(0).sample(rows, min(count, len(rows))):
            kind = "element-wise" if op in _ELEMENTWISE else op
            observations.append(
                Observation(kind, find_card(gpu), ((operator_work(row), 1),),
                            1e-6 * row["latency_us"], f"{op} {gpu}")
            )  # fmt: skip
    return observations


def operator_work(row: dict[str, Any]) -> Work:
    """Return the work of one operation in float32 without TF32."""
    op = row["op"]
    number = {name: int(value) for name, value in row.items() if isinstance(value, int | float)}
    if op in ("linear", "bmm"):
        batch, m, n, k = (number[name] for name in ("batch", "m", "n", "k"))
        dims = (1, batch * m, n, k) if op == "linear" else (batch, m, n, k)
        size = 4 * dims[0] * (dims[1] * k + k * n + dims[1] * n)
        family = "product" if op == "linear" else "batched"
        return Work(family, size, 2 * math.prod(dims), "fp32", dims, op)
    if op == "conv":  # 3 x 3, stride 1, padding 1
        pixels = number["batch"] * number["image_size"] ** 2
        channels_in, channels_out = number["channels_in"], number["channels_out"]
        dims = (1, pixels, channels_out, 9 * channels_in)
        size = 4 * (pixels * (channels_in + channels_out) + 9 * channels_in * channels_out)
        return Work("convolution", size, 2 * math.prod(dims), "fp32", dims, op, is_winograd=True)
    size = 4 * _TENSORS.get(op, 2) * number["rows"] * number["columns"]
    family = "reduction" if op in ("softmax", "ln") else "elementwise"
    return Work(family, size, name=op)


class Recorder:
    """Records the kernels of a function on a simulated card that computes nothing."""

    def __init__(self, gpu: str) -> None:
        simulated_cuda._install(Machine(1, 1 << 60, True, find_card(gpu), False), over_real=True)
        self.clock = simulated_cuda._installation().machine.clock
        self.clock.launch_seconds = 1.0

    def record(self, step: Callable[[], Any], warmup: int) -> tuple[list[tuple[Work, int]], float]:
        """Return the kernels of the last call with their counts, and the number of launches."""
        for _ in range(warmup):
            step()
        self.clock.spans.clear()
        start = self.clock.now
        step()
        works = Counter(span.work for span in self.clock.spans if span.work is not None)
        return list(works.items()), self.clock.now - start


def make_step(
    net: torch.nn.Module, X: torch.Tensor, is_training: bool, autocast: bool
) -> Callable[[], None]:
    """Return a function that predicts a batch, or trains on it with SGD and momentum."""
    context = torch.autocast("cuda", dtype=torch.float16, enabled=autocast)
    y = torch.zeros(len(X), dtype=torch.long, device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step() -> None:
        with context, torch.set_grad_enabled(is_training):
            logits = net(X)
            loss = F.cross_entropy(logits, y) if is_training else None
        if loss is not None:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    net.train(is_training)
    return step


def read_networks(path: Path, kind: str, count: int) -> list[Observation]:
    """Return the observations of `count` of timm's networks on an RTX 3090, with autocast."""
    import timm

    is_training = "train" in path.name
    prefix = "train" if is_training else "infer"
    layout = torch.channels_last if "nhwc" in path.name else torch.contiguous_format
    rows = list(csv.DictReader(path.open()))
    random.Random(0).shuffle(rows)
    cache = CACHE / f"{path.stem}.pickle"
    recorded = pickle.loads(cache.read_bytes()) if cache.exists() else {}
    recorder = None
    # The training was measured with PyTorch 1.12, which had no fused attention.
    timm.layers.set_fused_attn(not is_training)
    for row in rows[:count]:
        name, batch = row["model"], int(row[f"{prefix}_batch_size"])
        size = int(row[f"{prefix}_img_size"])
        key = f"{name} {size} {batch}"  # some were measured with several sizes
        if key in recorded:
            continue
        recorder = recorder or Recorder("RTX 3090")
        signal.alarm(60)  # a network whose constructor depends on values may not end
        try:
            try:
                net = timm.create_model(name.split(".")[0], img_size=size)
            except TypeError:
                net = timm.create_model(name.split(".")[0])
            net = net.cuda().to(memory_format=layout)
            X = torch.empty(batch, 3, size, size, device="cuda").to(memory_format=layout)
            recorded[key] = recorder.record(make_step(net, X, is_training, True), is_training)
        except (Exception, TimeoutError) as error:
            print(f"{name} is left out: {type(error).__name__}: {str(error)[:100]}")
            recorded[key] = None
        signal.alarm(0)
        CACHE.mkdir(parents=True, exist_ok=True)
        cache.with_suffix(".new").write_bytes(pickle.dumps(recorded))
        cache.with_suffix(".new").replace(cache)
    if recorder is not None:
        simulated_cuda.disable()
    card = find_card("RTX 3090")
    observations = []
    for row in rows[:count]:
        key = f"{row['model']} {row[f'{prefix}_img_size']} {row[f'{prefix}_batch_size']}"
        if recorded.get(key):
            seconds = 1e-3 * float(row[f"{prefix}_step_time"])
            observations.append(Observation(kind, card, tuple(recorded[key][0]), seconds, name=key))
    return observations


def read_resnet50(path: Path) -> list[Observation]:
    """Return the observations of ResNet-50's inference on a T4 and a V100."""
    import torchvision

    recorder, observations = Recorder("T4"), []
    torch.backends.cudnn.allow_tf32 = False
    net = torchvision.models.resnet50().cuda()
    recorded = {}
    for row in csv.DictReader(path.open()):
        batch, is_mixed = int(row["batch"]), row["precision"] != "fp32"
        if (batch, is_mixed) not in recorded:
            X = torch.empty(batch, 3, 224, 224, device="cuda")
            recorded[batch, is_mixed] = recorder.record(make_step(net, X, False, is_mixed), 0)
        works, launches = recorded[batch, is_mixed]
        card = find_card(row["gpu"])
        kind = f"ResNet-50, {card.architecture}, {'mixed' if is_mixed else 'fp32'}"
        observations.append(
            Observation(kind, card, tuple(works), 1e-3 * float(row["latency_ms"]),
                        launches=launches, name=f"batch {batch}")
        )  # fmt: skip
    simulated_cuda.disable()
    torch.backends.cudnn.allow_tf32 = True
    return observations


class Block(torch.nn.Module):
    """A transformer's layer as the Hugging Face library computed it: attention in single steps."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.projections = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(4))
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the output of shape (batch, length, width), as X."""
        batch, length, width = X.shape
        shape = (batch, length, self.heads, width // self.heads)
        query, key, value = (
            projection(self.norms[0](X)).view(shape).transpose(1, 2)
            for projection in self.projections[:3]
        )
        scores = query @ key.transpose(-2, -1) / shape[-1] ** 0.5
        mask = torch.zeros(length, length, device=X.device)
        weights = F.dropout(torch.softmax(scores + mask, dim=-1), 0.1, self.training)
        attended = (weights @ value).transpose(1, 2).reshape(X.shape)
        X = X + F.dropout(self.projections[3](attended), 0.1, self.training)
        return X + F.dropout(self.down(F.gelu(self.up(self.norms[1](X)))), 0.1, self.training)


# Layers, width, heads, and words of the vocabulary that are predicted.
_TRANSFORMERS = {"bert_large": (24, 1024, 16, 2), "gpt2_large": (36, 1280, 20, 50257),
                 "opt_13": (24, 2048, 32, 50272), "gpt3_27": (32, 2560, 32, 50257)}  # fmt: skip


def read_transformers(path: Path) -> list[Observation]:
    """Return the observations of whole transformers in float32 on one card."""
    recorder, recorded, observations = Recorder("T4"), {}, []
    for row in csv.DictReader(path.open()):
        if row["model"] not in _TRANSFORMERS or row["variant"]:
            continue
        length, batch = int(row["sequence"]), int(row["batch"])
        key = (row["model"], length, batch, row["mode"])
        if key not in recorded:
            layers, width, heads, words = _TRANSFORMERS[row["model"]]
            blocks = [Block(width, heads) for _ in range(layers)]
            net = torch.nn.Sequential(*blocks, torch.nn.Linear(width, words)).cuda()
            net.train(row["mode"] == "train")
            X = torch.empty(batch, length, width, device="cuda")

            def step(net: torch.nn.Module = net, X: torch.Tensor = X) -> None:
                with torch.set_grad_enabled(net.training):
                    logits = net(X)
                if net.training:
                    logits.backward(logits)

            recorded[key] = recorder.record(step, 0)
        works, launches = recorded[key]
        observations.append(
            Observation("transformers, fp32", find_card(row["gpu"]), tuple(works),
                        1e-3 * float(row["step_ms"]), launches=launches, name=f"{key}")
        )  # fmt: skip
    simulated_cuda.disable()
    return observations


def predict(
    observations: Sequence[Observation], constants: Constants, offsets: dict[str, float]
) -> np.ndarray:
    """Return the modelled seconds of each observation."""
    # One operation was timed again and again: `offset` includes what each kernel costs.
    single = {**constants, "kernel_us": 0.0}
    seconds = []
    for o in observations:
        model = single if o.offset else constants
        gpu = sum(count * kernel_seconds(work, o.card, model) for work, count in o.works)
        cpu = 1e-6 * constants["launch_us"] * o.launches
        seconds.append(max(gpu, cpu) + 1e-6 * offsets.get(o.offset, 0.0))
    return np.array(seconds)


Bounds = dict[str, tuple[float, float]]


def fit(
    observations: Sequence[Observation], constants: Constants, bounds: Bounds
) -> tuple[Constants, dict[str, float]]:
    """Return constants for which the observations are predicted best, and the offsets in us.

    `bounds` has the constants to fit, such as "family.product.overlap". Rare large errors count
    less than their squares.
    """
    result = copy.deepcopy(constants)
    keys = sorted({o.offset for o in observations} - {""})
    measured = np.log([o.seconds for o in observations])
    # Every kind counts as much as any other, however many observations it has.
    counts = Counter(o.kind for o in observations)
    weights = np.array(
        [(len(observations) / len(counts) / counts[o.kind]) ** 0.5 for o in observations]
    )

    def residuals(values: np.ndarray) -> np.ndarray:
        for path, value in zip(bounds, values, strict=False):
            _set(result, path, float(value))
        offsets = dict(zip(keys, values[len(bounds) :], strict=True))
        return weights * (np.log(predict(observations, result, offsets)) - measured)

    low = [b[0] for b in bounds.values()] + [3.0] * len(keys)
    high = [b[1] for b in bounds.values()] + [400.0] * len(keys)
    start = [_get(constants, path) for path in bounds] + [35.0] * len(keys)
    start = np.clip(start, np.array(low) + 1e-3, np.array(high) - 1e-3)
    solution = least_squares(
        residuals, start, bounds=(low, high), loss="soft_l1", f_scale=0.1, diff_step=3e-3,
        max_nfev=25, x_scale=np.maximum(np.abs(start), 0.05),
    ).x  # fmt: skip
    for path, value in zip(bounds, solution, strict=False):
        _set(result, path, round(float(value), 3))
    return result, dict(zip(keys, solution[len(bounds) :], strict=True))


def _get(constants: Constants, path: str) -> float:
    for key in path.split("."):
        constants = constants[key]
    return constants


def _set(constants: Constants, path: str, value: float) -> None:
    *parents, last = path.split(".")
    for key in parents:
        constants = constants[key]
    constants[last] = value


def errors(predicted: np.ndarray, observations: Sequence[Observation]) -> np.ndarray:
    """Return |predicted / measured - 1|."""
    return np.abs(predicted / np.array([o.seconds for o in observations]) - 1)


def rank_correlation(first: Iterable[float], second: Iterable[float]) -> float:
    """Return Spearman's correlation."""
    ranks = [np.argsort(np.argsort(list(values))) for values in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


def by_data_sheet(o: Observation, bandwidth: bool = True) -> float:
    """Return the time that the peaks of the data sheet give, without or with the bytes."""
    return sum(
        count * max(work.flops / (1e12 * o.card.peak_tflops(work.precision)),
                    bandwidth * work.bytes / (1e9 * o.card.bandwidth))
        for work, count in o.works
    )  # fmt: skip


def report(
    observations: Sequence[Observation], predicted: np.ndarray, title: str = ""
) -> dict[str, float]:
    """Print the errors of each kind; return the medians."""
    print(
        f"\n| {title or 'kind'} | number | median error | 90 % | rank | roofline | FLOPs / peak |"
    )
    print("|---|---|---|---|---|---|---|")
    medians = {}
    for kind in dict.fromkeys(o.kind for o in observations):
        chosen = [i for i, o in enumerate(observations) if o.kind == kind]
        of_kind = [observations[i] for i in chosen]
        found = errors(predicted[chosen], of_kind)
        medians[kind] = float(np.median(found))
        # Networks are ranked by time per image: their batches have been chosen to fill the memory.
        batches = [int(o.name.split()[-1]) if "networks" in kind else 1 for o in of_kind]
        measured = [o.seconds / batch for o, batch in zip(of_kind, batches, strict=True)]
        rank = rank_correlation(predicted[chosen] / batches, measured)
        base = np.median(errors(np.array([by_data_sheet(o) for o in of_kind]), of_kind))
        flops = np.median(errors(np.array([by_data_sheet(o, False) for o in of_kind]), of_kind))
        print(f"| {kind} | {len(chosen)} | {medians[kind]:.1%} | {np.quantile(found, 0.9):.0%} | "
              f"{rank:.3f} | {base:.0%} | {flops:.0%} |", flush=True)  # fmt: skip
    return medians


def fit_all(
    observations: Sequence[Observation], constants: Constants
) -> tuple[Constants, dict[str, float]]:
    """Return the constants and offsets after all stages."""
    offsets: dict[str, float] = {}
    for stage in tomllib.loads(STAGES.read_text("utf-8"))["stage"]:
        bounds = stage["bounds"]
        chosen = [o for o in observations if o.kind in stage["kinds"]]
        cards = {o.card.architecture for o in chosen}
        usable = {
            path: b for path, b in bounds.items()
            if not path.startswith("architecture.") or path.split(".")[1] in cards
        }  # fmt: skip
        if chosen:
            constants, found = fit(chosen, constants, usable)
            offsets |= found
    return constants, offsets


def leave_out(observations: Sequence[Observation], constants: Constants) -> None:
    """Fit without each card in turn, and report its operations."""
    operators = [o for o in observations if o.offset][::2]
    for card in {o.card.name: o.card for o in operators}.values():
        rest = [o for o in operators if o.card.architecture != card.architecture]
        fitted, _ = fit_all(rest, constants)
        architectures = fitted["architecture"]
        others = [architectures[o.card.architecture] for o in rest]
        guess = {key: float(np.mean([each[key] for each in others if key in each]))
                 for key in ("bandwidth", "cached", "fp32")}  # fmt: skip
        architectures[card.architecture] = guess
        mine = [o for o in operators if o.card == card]
        # What launching and measuring took is a property of the measurement, not of the card.
        _, offsets = fit(mine[::2], fitted, {})
        mine = mine[1::2]
        report(mine, predict(mine, fitted, offsets), f"left out: {card.name}")


def plot(observations: Sequence[Observation], predicted: np.ndarray, folder: Path) -> None:
    """Write a scatter plot of measured and predicted times for each kind."""
    import matplotlib.pyplot as plt

    groups = {"operations": [], "networks": []}
    for i, o in enumerate(observations):
        groups["operations" if o.offset else "networks"].append(i)
    for name, chosen in groups.items():
        kinds = list(dict.fromkeys(observations[i].kind for i in chosen))
        figure, axes = plt.subplots(2, 4, figsize=(16, 8), layout="constrained")
        for axis, kind in zip(axes.flat, kinds, strict=False):
            cards = dict.fromkeys(
                observations[i].card.name for i in chosen if observations[i].kind == kind
            )
            for card in cards:
                mine = [
                    i
                    for i in chosen
                    if observations[i].kind == kind and observations[i].card.name == card
                ]
                axis.loglog([1e3 * observations[i].seconds for i in mine], 1e3 * predicted[mine],
                            ".", markersize=4, alpha=0.6, label=card)  # fmt: skip
            ends = axis.get_xlim()
            axis.plot(ends, ends, color="black", linewidth=0.8)
            axis.set(title=kind, xlabel="published time (ms)", ylabel="modelled time (ms)")
            axis.legend(fontsize=8)
        for axis in axes.flat[len(kinds) :]:
            axis.remove()
        figure.savefig(folder / f"the_clock_{name}.png", dpi=90)


def write_toml(constants: Constants, path: Path) -> None:
    """Write the constants."""
    lines = [
        "# Written by `python -m tools.fit_clock DATA --write`; docs/the_clock.md explains them."
    ]

    def table(name: str, values: dict[str, Any]) -> None:
        if name:
            lines.append(f"\n[{name}]")
        lines.extend(
            f"{key} = {value}" for key, value in values.items() if not isinstance(value, dict)
        )
        for key, value in values.items():
            if isinstance(value, dict):
                quoted = f'"{key}"' if " " in key else key
                table(f"{name}.{quoted}" if name else quoted, value)

    table("", constants)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        "python -m tools.fit_clock", description=__doc__.split("\n")[0]
    )
    parser.add_argument("data", type=Path, help="the folder with the measurements")
    parser.add_argument("--write", action="store_true", help="write the constants")
    parser.add_argument("--leave-out", action="store_true", help="predict cards that were left out")
    parser.add_argument("--networks", type=int, default=300, help="networks of each kind")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    constants = tomllib.loads(CONSTANTS.read_text("utf-8"))
    files = {"networks, inference": "networks_infer_rtx3090_nchw.csv",
             "networks, training": "networks_train_rtx3090_nhwc.csv",
             "networks, training, contiguous": "networks_train_rtx3090_nchw.csv"}  # fmt: skip
    observations = read_operators(options.data / "operators.parquet", 1000)
    observations += read_resnet50(options.data / "resnet50_inference.csv")
    observations += read_transformers(options.data / "transformers.csv")
    for kind, file in files.items():
        count = options.networks // 5 if kind.endswith("contiguous") else options.networks
        observations += read_networks(options.data / file, kind, count)
    fitted, offsets = fit_all(observations[::2], constants)
    rest = observations[1::2]
    predicted = predict(rest, fitted, offsets)
    medians = report(rest, predicted)
    networks = [value for kind, value in medians.items() if kind.startswith("networks")]
    fitted["errors"]["networks"] = round(max(networks), 3)
    if options.leave_out:
        leave_out(observations, constants)
    plot(rest, predicted, ROOT / "docs")
    if options.write:
        write_toml(fitted, CONSTANTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
