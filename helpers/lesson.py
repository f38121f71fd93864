"""Functions that every notebook calls: `start`, `show_data`, `progress`, `report` and `box`."""

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
from helpers.language import ENGLISH, current_language, set_language, translate
from simulated_cuda import settings

if TYPE_CHECKING:
    from helpers.cifar10 import Dataset
    from helpers.training import Progress

RESULT_TYPE = "application/vnd.gpu-course.result+json"


def start(
    device: str | torch.device = "auto",
    *,
    seed: int = 0,
    practice: bool = False,
    gpus: int = 1,
    gpu_memory: str | None = None,
    language: str | None = None,
) -> torch.device:
    """Seed torch, choose the device, show a banner that names it, and return it.

    After this call, a device error in a cell is followed by a box that explains it.

    Args:
        device: "auto" (the accelerator if there is one) or a device name such as "cuda:1".
        practice: simulate `gpus` CUDA GPUs if the machine has none. For lessons about devices;
            never time anything on a simulated GPU.
        gpu_memory: the memory of each GPU, such as "1GiB". A simulated GPU then counts every
            allocation; on a real one, PyTorch may use no more than this.
        language: the language of boxes, hints and descriptions of figures, such as "es". If None,
            the environment variable `COURSE_LANGUAGE` is used, or else English.
    """
    set_language(language or os.environ.get("COURSE_LANGUAGE") or ENGLISH)
    if practice and (simulated_cuda.is_enabled() or not torch.cuda.is_available()):
        if gpu_memory is None:
            simulated_cuda.enable(devices=gpus)
        else:
            simulated_cuda.enable(gpus, settings.parse_size(gpu_memory), every_allocation=True)
    elif gpu_memory is not None and torch.cuda.is_available():
        limit = settings.parse_size(gpu_memory)
        for index in range(torch.cuda.device_count()):
            total = torch.cuda.get_device_properties(index).total_memory
            torch.cuda.set_per_process_memory_fraction(limit / total, index)
    explain.install()
    chosen_device = choose_device("cuda" if practice and str(device) == "auto" else device)
    torch.manual_seed(seed)
    description = describe_device(chosen_device)
    title = translate("This notebook runs on {device}.", device=description)
    text = f"torch {torch.__version__}, seed {seed}"
    has_real_gpu = torch.cuda.is_available() and not simulated_cuda.is_enabled()
    if "COLAB_RELEASE_TAG" in os.environ and not has_real_gpu:  # set on every runtime of Colab
        advice = translate(
            "This Colab runtime has no GPU. To get one: Runtime > Change runtime type > T4 GPU > "
            "Save, then run the notebook from the top"
        )
        text = translate("{version}. {advice}", version=text, advice=advice)
    if practice and simulated_cuda.is_enabled():
        title = translate("This notebook uses a simulated GPU: {device}.", device=description)
        explanation = translate(
            "Devices, copies and error messages follow PyTorch's CUDA code. The arithmetic runs on "
            "the CPU, so times measured here are not GPU times."
        )
        text = translate("{explanation} {version}", explanation=explanation, version=text)
    box(title, text, results={"device": description})
    return chosen_device


def show_data(dataset: "Dataset") -> None:
    """Show which images the notebook uses; synthetic images get a warning box."""
    name, provenance, synthetic = dataset.name, dataset.provenance, dataset.synthetic
    title = translate("The images are {name}.", name=translate(name))
    text = translate("{source}.", source=provenance)
    if synthetic:
        title = translate("These images are not CIFAR-10: they are synthetic.")
        text = translate(
            "{source}. The accuracies below say nothing about CIFAR-10.", source=provenance
        )
    results = {"dataset": name, "provenance": provenance, "synthetic": synthetic}
    box(title, text, warning=synthetic, results=results)


def report(**results: str | bool | int | float | None) -> None:
    """Store results in the notebook's outputs as data; `course run` collects them in its report."""
    if get_ipython() is not None:
        listed = ", ".join(f"{name} = {value}" for name, value in results.items())
        text = translate("Results: {listed}", listed=listed)
        display({RESULT_TYPE: results, "text/plain": text}, raw=True)


def progress(label: str) -> Callable[["Progress"], None]:
    """Return a callback for `helpers.training.train` that shows one line, updated in place.

    The last state of the line is stored with the notebook and is readable without running it,
    unlike a widget. Outside a notebook, each update is printed.
    """
    handle = None

    def show(now: "Progress") -> None:
        nonlocal handle
        # `tests/nbval_sanitize.cfg` recognizes the measured numbers in every language.
        text = translate(
            "{what}: epoch {epoch} of {epochs}, step {step:,} of {steps:,}, loss {loss:.3f}, "
            "{images_per_second:,.0f} images/s, {seconds:.1f} s",
            **{"what": translate(label), "images_per_second": now.images_per_second, **vars(now)},
        )
        text += f"; {now.note}" if now.note else ""
        done = (now.epoch - 1) * now.steps + now.step
        bar = f'<progress value="{done}" max="{now.epochs * now.steps}" aria-hidden="true">'
        bundle = {"text/html": f"{bar}</progress> {escape(text)}", "text/plain": text}
        if get_ipython() is None:
            print(text)
        elif handle is None:
            handle = display(bundle, raw=True, display_id=True)
        else:
            handle.update(bundle, raw=True)

    return show


def box(
    title: str,
    text: str = "",
    *,
    warning: bool = False,
    results: dict[str, str | bool | int | float | None] | None = None,
) -> None:
    """Display a box with a title, in the student's language; print plain text outside a notebook.

    A `warning` has a thick red border. `results` are stored with the output, as `report` does.
    """
    title, text = translate(title), translate(text)
    color, background = ("#B22222", "#FFF4E5") if warning else ("#0072B2", "#F3F8FC")
    size, border = ("1.2em", 4) if warning else ("1em", 1)
    html = (
        f'<div role="note" lang="{current_language()}" style="border:{border}px solid {color};'
        f'background:{background};color:#1a1a1a;padding:0.6em 1em;margin:0.4em 0">'
        f'<strong style="font-size:{size}">{escape(title)}</strong>'
        f"{'<br>' + escape(text) if text else ''}</div>"
    )
    plain_text = f"{'!!! ' if warning else ''}{title}{' ' + text if text else ''}"
    if get_ipython() is None:
        print(plain_text)
        return
    bundle = {"text/html": html, "text/plain": plain_text}
    display(bundle if results is None else bundle | {RESULT_TYPE: results}, raw=True)
