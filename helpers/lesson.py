"""The first line of every notebook, and what it says of itself: banner, seed, data, results."""

import os
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import torch
from IPython.core.getipython import get_ipython
from IPython.display import display

import simulated_cuda
from helpers import explain
from helpers.devices import choose_device, describe_device

if TYPE_CHECKING:
    from helpers.cifar10 import Dataset
    from helpers.history import Progress

RECORD_TYPE = "application/vnd.gpu-course.record+json"


def start(
    device: str | torch.device = "auto", *, seed: int = 0, practise: bool = False, gpus: int = 1
) -> torch.device:
    """Seed torch, choose the device, show a banner that names it, and return it.

    From here on, a device error in a cell is followed by a box that explains it.

    Args:
        device: "auto" (the accelerator where there is one) or a device's name such as "cuda:1".
        seed: for torch's generators on every device.
        practise: where there is no CUDA GPU, simulate `gpus` of them. For lessons about devices;
            nothing may be timed on a simulated one.

    Raises:
        ValueError: the device cannot be used on this machine, or the seed is no whole number.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ValueError(f"seed must be a whole number, not {seed!r}.")
    if practise and (simulated_cuda.is_enabled() or not torch.cuda.is_available()):
        simulated_cuda.enable(devices=gpus)
    explain.install()
    chosen = choose_device("cuda" if practise and str(device) == "auto" else device)
    torch.manual_seed(seed)
    what = describe_device(chosen)
    if practise and simulated_cuda.is_enabled():
        box(
            f"You practise on a simulated GPU: {what}.",
            "Devices, moves and error messages behave as on a real one. The arithmetic runs on the "
            f"CPU, so nothing here says how fast a GPU is. torch {torch.__version__}, seed {seed}"
            f"{_how_colab_gives_a_gpu()}",
            results={"device": what},
        )
    else:
        box(
            f"This notebook computes on {what}.",
            f"torch {torch.__version__}, seed {seed}{_how_colab_gives_a_gpu()}",
            results={"device": what},
        )
    return chosen


def _how_colab_gives_a_gpu() -> str:
    """A sentence for a student whose Colab runtime has no GPU; nothing anywhere else."""
    real = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    # Colab sets the variable on every runtime.
    if real or "COLAB_RELEASE_TAG" not in os.environ:
        return ""
    return (
        ". This Colab runtime has no GPU. To get one: Runtime > Change runtime type > T4 GPU > "
        "Save, then run the notebook from the top"
    )


def show_data(dataset: "Dataset") -> None:
    """Say which images the notebook works on, in a box that cannot be missed if they are drawn."""
    results = {"data_set": dataset.name, "provenance": dataset.provenance, "drawn": dataset.drawn}
    if dataset.drawn:
        box(
            "These are not photographs: the images are drawn by the program.",
            f"{dataset.provenance}. Accuracies below say nothing about CIFAR-10.",
            warning=True,
            results=results,
        )
    else:
        box(f"The images are {dataset.name}.", f"{dataset.provenance}.", results=results)


def record(**results: str | bool | int | float | None) -> None:
    """Keep results in the notebook's outputs, as data that `course run` collects into its report.

    Raises:
        TypeError: a value is not a plain string, number or truth value; the message names it.
    """
    for name, value in results.items():
        if not isinstance(value, str | bool | int | float | None):
            raise TypeError(
                f"lesson.record keeps plain values; {name} is a {type(value).__name__}. "
                f"A one-element tensor becomes plain by {name}.item()."
            )
    if get_ipython() is not None:
        shown = ", ".join(f"{name} = {value}" for name, value in results.items())
        display({RECORD_TYPE: results, "text/plain": f"Recorded: {shown}"}, raw=True)


def progress(what: str) -> Callable[["Progress"], None]:
    """Return a report for `helpers.training.train` that shows one line, updated in place.

    The line's last state is stored with the notebook and reads without running anything, which a
    widget's does not. Outside a notebook each line is printed.
    """
    handle = None

    def report(now: "Progress") -> None:
        nonlocal handle
        text = (
            f"{what}: epoch {now.epoch} of {now.epochs}, step {now.step:,} of {now.steps:,}, "
            f"loss {now.loss:.3f}, {now.images_per_second:,.0f} images/s, {now.seconds:.1f} s"
            f"{'; ' + now.note if now.note else ''}"
        )
        if get_ipython() is None:
            print(text)
            return
        done = (now.epoch - 1) * now.steps + now.step
        bar = f'<progress value="{done}" max="{now.epochs * now.steps}" aria-hidden="true">'
        bundle = {"text/html": f"{bar}</progress> {escape(text)}", "text/plain": text}
        if handle is None:
            handle = display(bundle, raw=True, display_id=True)
        else:
            handle.update(bundle, raw=True)

    return report


def box(
    title: str,
    text: str = "",
    *,
    warning: bool = False,
    results: dict[str, str | bool | int | float | None] | None = None,
) -> None:
    """Display a titled box; plain text where there is no notebook. A warning is loud.

    `results` go along with the output, as those of `record` do.
    """
    colour, background = ("#B22222", "#FFF4E5") if warning else ("#0072B2", "#F3F8FC")
    size = "1.2em" if warning else "1em"
    html = (
        f'<div role="note" style="border:{4 if warning else 1}px solid {colour};'
        f'background:{background};color:#1a1a1a;padding:0.6em 1em;margin:0.4em 0">'
        f'<strong style="font-size:{size}">{escape(title)}</strong>'
        f"{'<br>' + escape(text) if text else ''}</div>"
    )
    plain = f"{'!!! ' if warning else ''}{title}{' ' + text if text else ''}"
    if get_ipython() is None:
        print(plain)
        return
    bundle = {"text/html": html, "text/plain": plain}
    display(bundle if results is None else bundle | {RECORD_TYPE: results}, raw=True)
