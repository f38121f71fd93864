"""Fit the clock of the simulated GPU to published measurements, and report how well it predicts.

    python -m tools.fit_clock DATA            print the errors; write the page's tables and plots
    python -m tools.fit_clock DATA --write    also write simulated_cuda/clock_constants.toml
    python -m tools.fit_clock DATA --leave-out   also predict each card from the others

DATA is a folder with the files that docs/the_clock.md names. Half of each kind of measurements is
used to fit the constants, the other half to report. The networks come from timm; their kernels are
recorded once and kept in build/clock. Needs pandas, scipy, timm and tomli-w.

Measurements are a DataFrame. Each row has its `kind`, a row of the printed table; the `card`; the
published time in `seconds`; the `works`, pairs of a kernel and its count; the number of `launches`
by Python; the `images` per batch; `offset`, the name of the time that launching and measuring
took, which is fitted for each operation and card ("" for networks); and `computer`, whose time per
launch is fitted too ("" where it is the clock's).
"""

import argparse
import copy
import functools
import math
import operator
import random
import re
import shelve
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import timm
import tomli_w
import torch
import torchvision
from matplotlib.figure import Figure
from scipy.optimize import least_squares
from timm.models.vision_transformer import Block
from torch import nn
from torch.nn import functional as F

import simulated_cuda
from simulated_cuda.cards import Card, find_card
from simulated_cuda.kernel_time import Constants, kernel_seconds
from simulated_cuda.machine import Machine
from simulated_cuda.work import Work

ROOT = Path(__file__).parents[1]
CONSTANTS = ROOT / "simulated_cuda" / "clock_constants.toml"
PAGE = ROOT / "docs" / "the_clock.md"
# What is fitted in which order, and which networks.
SETTINGS = tomllib.loads((ROOT / "tools" / "fit_clock.toml").read_text("utf-8"))
CACHE = ROOT / "build" / "clock" / "steps"
ELEMENTWISE = ("add", "mul", "div", "pow", "addu", "mulu", "divu", "powu", "relu", "gelu", "tanh")
Step = Callable[[], None]


def read_operators(path: Path) -> pd.DataFrame:
    """Return up to 1,000 measurements of each operation on each card."""
    shuffled = pd.read_parquet(path).sample(frac=1, random_state=0)
    table = shuffled.groupby(["op", "gpu"], sort=False).head(1000)
    return table.assign(
        kind=table.op.where(~table.op.isin(ELEMENTWISE), "element-wise"),
        offset=table.op + " " + table.gpu,
        works=[[(operator_work(row), 1)] for row in table.itertuples()],
        seconds=1e-6 * table.latency_us.astype(float),
    )


def operator_work(row: Any) -> Work:
    """Return the work of one operation in float32 without TF32."""
    if row.op in ("linear", "bmm"):
        batch, m, n, k = int(row.batch), int(row.m), int(row.n), int(row.k)
        dims = (1, batch * m, n, k) if row.op == "linear" else (batch, m, n, k)
        size = 4 * dims[0] * (dims[1] * k + k * n + dims[1] * n)
        family = "product" if row.op == "linear" else "batched"
        return Work(family, size, 2 * math.prod(dims), "fp32", dims, row.op)
    if row.op == "conv":  # 3 x 3, stride 1, padding 1
        pixels = int(row.batch) * int(row.image_size) ** 2
        channels_in, channels_out = int(row.channels_in), int(row.channels_out)
        dims = (1, pixels, channels_out, 9 * channels_in)
        size = 4 * (pixels * (channels_in + channels_out) + 9 * channels_in * channels_out)
        return Work("convolution", size, 2 * math.prod(dims), "fp32", dims, "conv", True)
    num_tensors = 3 if row.op in ("add", "mul", "div", "pow") else 2  # read and written
    size = 4 * num_tensors * int(row.rows) * int(row.columns)
    family = "reduction" if row.op in ("softmax", "ln") else "elementwise"
    return Work(family, size, name=row.op)


def record_steps(
    table: pd.DataFrame, gpu: str, make_step: Callable[[Any], Step], *columns: str
) -> pd.DataFrame:
    """Return the rows with the kernels and launches of their steps.

    Rows with the same values in `columns` have the same step. It is recorded on a simulated `gpu`
    that computes nothing, and kept in the cache; if that fails, the rows are left out.
    """
    keys = table[list(columns)].astype(str).agg(" ".join, axis=1)
    simulated_cuda._install(Machine(1, 1 << 60, True, find_card(gpu), False), over_real=True)
    clock = simulated_cuda._installation().machine.clock
    clock.launch_seconds = 1.0
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with shelve.open(CACHE) as cache:
        for key, row in zip(keys, table.itertuples(), strict=True):
            if key in cache:
                continue
            # A network whose constructor depends on values may not end: 60 s of processor time.
            signal.setitimer(signal.ITIMER_PROF, 60)
            try:
                step = make_step(row)
                clock.spans.clear()
                start = clock.now
                step()
                works = Counter(span.work for span in clock.spans if span.work is not None)
                cache[key] = list(works.items()), clock.now - start
            except Exception as error:
                print(f"{key} is left out: {type(error).__name__}: {str(error)[:100]}")
                cache[key] = None, None
            signal.setitimer(signal.ITIMER_PROF, 0)
        works, launches = zip(*(cache[key] for key in keys), strict=True)
    simulated_cuda.disable()
    return table.assign(works=works, launches=launches).dropna(subset="works")


def prepare_step(
    net: nn.Module, X: torch.Tensor, is_training: bool, autocast: bool, uses_adam: bool = False
) -> Step:
    """Return a function that predicts a batch, or trains on it with SGD and momentum, or Adam."""
    context = torch.autocast("cuda", dtype=torch.float16, enabled=autocast)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    if uses_adam:
        optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    net.train(is_training)

    def step() -> None:
        with context, torch.set_grad_enabled(is_training):
            logits = net(X)
            if is_training:
                y = torch.zeros(len(logits), dtype=torch.long, device="cuda")
                loss = F.cross_entropy(logits, y)
        if is_training:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    if uses_adam and is_training:
        step()  # creates the state of the optimizer
    for weight in net.parameters() if is_training and not uses_adam else ():
        optimizer.state[weight]["momentum_buffer"] = torch.empty_like(weight)
    return step


def read_resnet50(path: Path) -> pd.DataFrame:
    """Return the measurements of ResNet-50's inference on a T4 and a V100."""
    table = pd.read_csv(path)
    architecture = pd.Series(find_card(gpu).architecture for gpu in table.gpu)
    kind = "ResNet-50, " + architecture + ", " + table.precision
    table = table.assign(kind=kind, seconds=1e-3 * table.latency_ms)
    net = torchvision.models.resnet50()

    def make_step(row: Any) -> Step:
        is_mixed = row.precision != "fp32"
        # NVIDIA's program uses channels_last with mixed precision only.
        layout = torch.channels_last if is_mixed else torch.contiguous_format
        X = torch.empty(row.batch, 3, 224, 224, device="cuda").to(memory_format=layout)
        return prepare_step(net.cuda().to(memory_format=layout), X, False, is_mixed)

    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        return record_steps(table, "T4", make_step, "kind", "batch")


def read_transformers(path: Path) -> pd.DataFrame:
    """Return the measurements of whole transformers in float32 on one card."""
    table = pd.read_csv(path)
    table = table[table.model.isin(SETTINGS["transformers"]) & table.variant.isna()]
    table = table.assign(kind="transformers, fp32", seconds=1e-3 * table.step_ms)

    def make_step(row: Any) -> Step:
        timm.layers.set_fused_attn(False)  # the measured networks computed attention in steps
        layers, width, heads, words = SETTINGS["transformers"][row.model]
        options = {"qkv_bias": True, "proj_drop": 0.1, "attn_drop": 0.1}
        with torch.device("cuda"):
            X = torch.empty(row.batch, row.sequence, width)
            blocks = [Block(width, heads, **options) for _ in range(layers)]
            net = nn.Sequential(*blocks, nn.Linear(width, words)).train(row.mode == "train")

        def step() -> None:
            with torch.set_grad_enabled(net.training):
                logits = net(X)
            if net.training:
                logits.backward(logits)

        return step

    return record_steps(table, "T4", make_step, "model", "sequence", "batch", "mode")


def read_language_models(path: Path) -> pd.DataFrame:
    """Return the measurements of GPTs, without FSDP's communication and the optimizer."""
    table = pd.read_csv(path)
    tokens = table.batch * table.sequence
    table = table.assign(
        kind=[f"language models, {find_card(gpu).architecture}" for gpu in table.gpu],
        seconds=tokens / table.tokens_per_second,
        images=tokens,
    )

    def make_step(row: Any) -> Step:
        timm.layers.set_fused_attn(True)
        with torch.device("cuda"):
            tokens = torch.zeros(row.batch, row.sequence, dtype=torch.long)
            blocks = [Block(row.width, row.heads, qkv_bias=True) for _ in range(row.layers)]
            net = nn.ModuleList([nn.Embedding(50368, row.width), *blocks, nn.LayerNorm(row.width)])
        embed, *_, norm = net.bfloat16()

        def step() -> None:
            X = embed(tokens)
            for block in blocks:
                X = block(X, is_causal=True)
            logits = F.linear(norm(X), embed.weight)
            F.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
            net.zero_grad()

        return step

    return record_steps(table, "A100", make_step, "model", "heads", "sequence", "batch")


def read_networks(path: Path, kind: str, count: int) -> pd.DataFrame:
    """Return the measurements of `count` of timm's networks on an RTX 3090, with autocast."""
    is_training = "train" in path.name
    layout = torch.channels_last if "nhwc" in path.name else torch.contiguous_format
    table = pd.read_csv(path).rename(columns=lambda name: re.sub("^(train|infer)_", "", name))
    order = list(range(len(table)))
    random.Random(0).shuffle(order)
    table = table.iloc[order[:count]].assign(file=path.stem, kind=kind, gpu="RTX 3090")
    table = table.assign(images=table.batch_size, seconds=1e-3 * table.step_time)

    def make_step(row: Any) -> Step:
        # The training was measured with PyTorch 1.12, which had no fused attention.
        timm.layers.set_fused_attn(not is_training)
        name, size = row.model.split(".")[0], row.img_size
        with torch.device("cuda"):  # which computes no random weights
            try:
                net = timm.create_model(name, img_size=size)
            except TypeError:
                net = timm.create_model(name)
        net = net.cuda().to(memory_format=layout)
        X = torch.empty(row.batch_size, 3, size, size, device="cuda").to(memory_format=layout)
        return prepare_step(net, X, is_training, autocast=True)

    columns = ("file", "model", "img_size", "batch_size")  # a network may have several sizes
    # The time of a launch on the computers of these measurements is not known.
    return record_steps(table, "RTX 3090", make_step, *columns).assign(launches=0)


def read_published(path: Path) -> pd.DataFrame:
    """Return the published speeds of networks on many cards: docs/the_clock.md has the sources."""
    table = pd.read_csv(path, keep_default_na=False)
    mixed = (table.precision == "mixed").astype(str)
    # At small batches, the CPU is measured.
    small = np.where((table["mode"] == "inference") & (table.batch < 32), ", batch < 32", "")
    table = table.assign(
        kind=table.source + ", " + table["mode"] + ", " + table.gpu + small,
        seconds=table.batch / table.per_second, images=table.batch, mixed=mixed,
    )  # fmt: skip

    def make_step(row: Any) -> Step:
        is_training, is_mixed = row.mode == "training", row.precision == "mixed"
        layout = torch.channels_last if row.layout == "nhwc" else torch.contiguous_format
        is_bert = row.model in SETTINGS["bert"]
        timm.layers.set_fused_attn(not is_bert)
        with torch.device("cuda"):
            if is_bert:
                layers, width = SETTINGS["bert"][row.model]
                options = {"qkv_bias": True, "proj_drop": 0.1, "attn_drop": 0.1}
                blocks = [Block(width, width // 64, **options) for _ in range(layers)]
                net = nn.Sequential(nn.Embedding(30522, width), *blocks, nn.Linear(width, 2))
                X = torch.zeros(row.batch, row.size, dtype=torch.long)
                # NVIDIA's program converts the weights (apex, level O2) instead of autocast.
                net = net.append(nn.Flatten(0, 1)).to(torch.half if is_mixed else torch.float)
                return prepare_step(net, X, is_training, autocast=False, uses_adam=True)
            net = timm.create_model(row.model).to(memory_format=layout)
            X = torch.empty(row.batch, 3, row.size, row.size).to(memory_format=layout)
        return prepare_step(net, X, is_training, is_mixed)

    # A card that has no TF32 computes in float32.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    columns = ("model", "mode", "mixed", "layout", "batch", "size")
    table = record_steps(table, "A100", make_step, *columns)
    torch.backends.cuda.matmul.allow_tf32 = False
    # Lambda's batches are so large that the time of launches, which is not known, does not matter.
    is_nvidia = table.source == "NVIDIA"
    computer = ("computer of " + table.gpu).where(is_nvidia, "")
    table = table.assign(launches=table.launches.where(is_nvidia, 0), computer=computer)
    # Rows alternate between the precisions: without the shuffle, one half would have one precision.
    return table.sample(frac=1, random_state=0).sort_values("kind", kind="stable")


def predict(table: pd.DataFrame, constants: Constants, offsets: dict[str, float]) -> pd.Series:
    """Return the modelled seconds of each measurement; `offsets` has the computers' times too."""
    # One operation was timed again and again: `offset` includes what each kernel costs.
    single = {**constants, "kernel_us": 0.0}
    gpu = [
        sum(n * kernel_seconds(work, card, single if offset else constants) for work, n in works)
        for works, card, offset in zip(table.works, table.card, table.offset, strict=True)
    ]
    cpu = 1e-6 * table.launches * table.computer.map(offsets).fillna(constants["launch_us"])
    return np.maximum(gpu, cpu) + 1e-6 * table.offset.map(offsets).fillna(0.0)


def fit(
    table: pd.DataFrame, constants: Constants, bounds: dict[str, tuple[float, float]],
    panel_weights: dict[str, float],
) -> tuple[Constants, dict[str, float]]:  # fmt: skip
    """Return constants for which the measurements are predicted best, and the offsets in us.

    `bounds` has the constants to fit, such as "family.product.overlap". All panels count alike, or
    `panel_weights` times as much. Rare large errors count less than their squares.
    """
    result = copy.deepcopy(constants)
    places = []  # the tables and keys of the constants
    for path in bounds:
        *parents, key = path.split(".")
        places.append((functools.reduce(operator.getitem, parents, result), key))
    offsets = dict.fromkeys(sorted({*table.offset, *table.computer} - {""}), 35.0)
    weights = table.panel.map(panel_weights).fillna(1) / table.panel.map(table.panel.value_counts())
    weights = (weights / weights.mean()) ** 0.5

    def set_values(values: np.ndarray) -> None:
        for (parent, key), value in zip(places, values, strict=False):
            parent[key] = float(value)
        offsets.update(zip(offsets, values[len(places) :], strict=True))

    def residuals(values: np.ndarray) -> np.ndarray:
        set_values(values)
        return weights * (np.log(predict(table, result, offsets)) - np.log(table.seconds))

    low, high = np.transpose([*bounds.values(), *[(3.0, 400.0)] * len(offsets)])
    start = [*(parent[key] for parent, key in places), *offsets.values()]
    start = np.clip(start, low + 1e-3, high - 1e-3)
    solution = least_squares(
        residuals, start, bounds=(low, high), loss="soft_l1", f_scale=0.1, diff_step=3e-3,
        max_nfev=25, ftol=1e-4, x_scale=np.maximum(np.abs(start), 0.05),
    ).x  # fmt: skip
    set_values([*solution[: len(places)].round(3), *solution[len(places) :]])
    return result, offsets


def fit_all(table: pd.DataFrame, constants: Constants) -> tuple[Constants, dict[str, float]]:
    """Return the constants and offsets after all stages."""
    offsets: dict[str, float] = {}
    for stage in SETTINGS["stage"]:
        chosen = table[table.panel.isin(stage["panels"])]
        missing = set(constants["architecture"]) - set(chosen.architecture)
        bounds = {
            path: limits
            for path, limits in stage["bounds"].items()
            if not path.startswith(tuple(f"architecture.{name}." for name in missing))
        }
        if len(chosen):
            constants, found = fit(chosen, constants, bounds, stage.get("weights", {}))
            offsets |= found
    return constants, offsets


def by_data_sheet(table: pd.DataFrame, bandwidth: bool = True) -> list[float]:
    """Return the times that the peaks of the data sheet give, with or without the bytes."""

    def seconds(work: Work, card: Card) -> float:
        moving = bandwidth * work.bytes / (1e9 * card.bandwidth)
        return max(work.flops / (1e12 * card.peak_tflops(work.precision)), moving)

    pairs = zip(table.works, table.card, strict=True)
    return [sum(n * seconds(work, card) for work, n in works) for works, card in pairs]


def report(table: pd.DataFrame, title: str = "kind") -> pd.Series:
    """Print the errors of each kind, and those of simpler models; return the median errors.

    The page about the clock gets the table too, if it has one with this title.
    """
    models = {"error": table.predicted, "roofline": by_data_sheet(table)}
    models["FLOPs"] = by_data_sheet(table, bandwidth=False)
    errors = pd.DataFrame({name: abs(s / table.seconds - 1) for name, s in models.items()})
    # Networks are ranked by time per image: their batches have been chosen to fill the memory.
    per_image = table[["predicted", "seconds"]].div(table.images, axis=0)
    lines = [
        f"| {title} | number | median error | 90 % | modelled / published | rank | roofline | "
        "FLOPs / peak |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, rows in errors.groupby(table.kind, sort=False):
        median, times = rows.median(), per_image.loc[rows.index]
        rank, ratio = times.rank().corr().iloc[0, 1], (times.predicted / times.seconds).median()
        lines.append(
            f"| {SETTINGS['labels'].get(kind, kind)} | {len(rows)} | {median.error:.1%} | "
            f"{rows.error.quantile(0.9):.0%} | {ratio:.2f} | {rank:.3f} | {median.roofline:.0%} | "
            f"{median.FLOPs:.0%} |"
        )
    print("", *lines, sep="\n", flush=True)
    page = PAGE.read_text("utf-8")
    if old := re.search(rf"(?ms)^\| {title} \|.*?\n(?=\n)", page):
        PAGE.write_text(page.replace(old[0], "\n".join(lines) + "\n"), "utf-8")
    return errors.error.groupby(table.kind).median()


def leave_out(table: pd.DataFrame, constants: Constants) -> None:
    """Fit without the architecture of each card in turn, and report the card's operations."""
    operators, unseen = (half[half.offset != ""] for half in (table[::2], table[1::2]))
    for gpu, mine in unseen.groupby("gpu", sort=False):
        own = mine.architecture.iloc[0]
        rest = operators[operators.architecture != own]
        fitted, _ = fit_all(rest, constants)
        others = pd.DataFrame([fitted["architecture"][name] for name in rest.architecture]).mean()
        fitted["architecture"][own] = others[["bandwidth", "cached", "fp32"]].to_dict()
        # What launching and measuring took is a property of the measurement, not of the card.
        _, offsets = fit(operators[operators.gpu == gpu], fitted, {}, {})
        mine = mine.assign(predicted=predict(mine, fitted, offsets))
        report(pd.concat([mine, mine.assign(kind="all")], ignore_index=True), f"left out: {gpu}")


def plot(table: pd.DataFrame, path: Path) -> None:
    """Write scatter plots of published and modelled times, the cards of a source in one."""
    height = math.ceil(table.panel.nunique() / 5)
    figure = Figure(figsize=(16, 4 * height), layout="constrained")
    for place, (kind, rows) in enumerate(table.groupby("panel", sort=False), start=1):
        axis = figure.add_subplot(height, 5, place)
        for gpu, mine in rows.groupby("gpu", sort=False):
            axis.loglog(1e3 * mine.seconds, 1e3 * mine.predicted, ".", alpha=0.6, label=gpu)
        ends = axis.get_xlim()
        axis.plot(ends, ends, color="black", linewidth=0.8)
        axis.set(title=kind, xlabel="published time (ms)", ylabel="modelled time (ms)")
        axis.xaxis.set_minor_formatter("")
        axis.legend(fontsize=6, ncols=math.ceil(rows.gpu.nunique() / 10))
    figure.savefig(path, dpi=90)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m tools.fit_clock", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the measurements")
    parser.add_argument("--write", action="store_true", help="write the constants")
    parser.add_argument("--leave-out", action="store_true", help="predict cards that were left out")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    tables = [
        read_operators(options.data / "operators.parquet"),
        read_resnet50(options.data / "resnet50_inference.csv"),
        read_transformers(options.data / "transformers.csv"),
        read_language_models(ROOT / "tools" / "language_models.csv"),
        *(read_networks(options.data / file, kind, n) for kind, file, n in SETTINGS["networks"]),
        read_published(ROOT / "tools" / "published_networks.csv"),
    ]
    table = pd.concat(tables, ignore_index=True)
    table = table.fillna({"offset": "", "computer": "", "launches": 0, "images": 1})
    # The cards of a source are one panel.
    table["panel"] = table.kind.str.replace(r"^(\w+, [a-z]+), [A-Z].*", r"\1", regex=True)
    table["card"] = table.gpu.map(find_card)
    table["gpu"] = [card.name for card in table.card]
    table["architecture"] = [card.architecture for card in table.card]
    constants = tomllib.loads(CONSTANTS.read_text("utf-8"))
    fitted, offsets = fit_all(table[::2], constants)
    rest = table[1::2].assign(predicted=lambda rows: predict(rows, fitted, offsets))
    medians = report(rest[rest.source.isna()])
    report(rest[rest.source.notna()], "source, mode, card")
    fitted["errors"]["networks"] = round(float(medians.filter(like="networks").max()), 3)
    if options.leave_out:
        leave_out(table, constants)
    for is_network, rows in rest.groupby(rest.offset == ""):
        name = "networks" if is_network else "operations"
        plot(rows, ROOT / "docs" / f"the_clock_{name}.png")
    if options.write:
        header = "# Written by `python -m tools.fit_clock DATA --write`; see docs/the_clock.md."
        CONSTANTS.write_text(f"{header}\n{tomli_w.dumps(fitted)}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
