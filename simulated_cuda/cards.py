"""The data sheets of GPUs that the clock models, and finding one by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .settings import GIB, table

# These words say nothing about the model.
_FILLER = {"nvidia", "tesla", "geforce", "quadro", "gtx", "rtx", "gb", "gib", "hbm", "hbm2e", "gpu"}


@dataclass(frozen=True)
class Card:
    """A GPU as its data sheet describes it.

    Attributes:
        name: a short name, such as "A100 SXM 80GB".
        torch_name: the name that `torch.cuda.get_device_name` returns.
        architecture: such as "Ampere".
        capability: compute capability, such as (8, 0).
        sms: number of streaming multiprocessors.
        memory: device memory in GiB, as sold.
        bandwidth: peak bandwidth of device memory in GB/s (10^9 bytes).
        l2: L2 cache in MiB.
        watts: power limit.
        pcie: peak bandwidth of the link to the host in GB/s, in one direction.
        tflops: dense peak in TFLOP/s by precision: "fp32" (required), "tf32", "fp16", "bf16".
        source: where the values come from.
    """

    name: str
    torch_name: str
    architecture: str
    capability: tuple[int, int]
    sms: int
    memory: float
    bandwidth: float
    l2: float
    watts: float
    pcie: float
    tflops: Mapping[str, float]
    source: str = ""

    def __post_init__(self) -> None:
        if "fp32" not in self.tflops:
            raise ValueError(table("errors")["no_fp32"].format(self.name, [*self.tflops]))

    @property
    def memory_bytes(self) -> int:
        """The bytes that a program can use; the driver keeps about 6 % (T4: 14.7 of 16 GiB)."""
        return int(0.94 * self.memory * GIB)

    def peak_tflops(self, precision: str) -> float:
        """Return the peak in TFLOP/s; a precision that the card lacks runs as fp32."""
        if precision == "fp64":
            # CUDA programming guide, throughput of instructions; A100, H100: with tensor cores.
            other = 32 if self.capability < (8, 0) else 64
            ratios = {(6, 0): 2, (7, 0): 2, (8, 0): 1, (9, 0): 1, (10, 0): 2}
            return self.tflops["fp32"] / ratios.get(self.capability, other)
        return self.tflops.get(precision, self.tflops["fp32"])


@cache
def load_cards() -> dict[str, Card]:
    """Return the cards of `cards.toml`, by name."""
    return {
        name: Card(name=name, **{**entry, "capability": tuple(entry["capability"])})
        for name, entry in table("cards").items()
    }


def find_card(name: str | Card) -> Card:
    """Return the card that a name means.

    Case, punctuation and words such as NVIDIA, Tesla, GeForce and RTX do not matter.
    The names that `torch.cuda.get_device_name` returns are known. If a name fits several cards,
    the first one in `cards.toml` is returned: "A100" is the A100 SXM with 80 GB.
    """
    if isinstance(name, Card):
        return name
    cards = load_cards()
    wanted = _words(str(name))
    exact = [card for card in cards.values() if wanted == _words(card.torch_name)]
    fits = [c for c in cards.values() if wanted and wanted <= _words(c.name) | {str(c.memory)}]
    if exact or fits:
        return (exact or fits)[0]
    close = difflib.get_close_matches(str(name), [*cards], 1, 0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"There is no card named {name!r}.{hint} Known cards: {', '.join(cards)}. For another "
        "card, pass a simulated_cuda.Card with its data sheet to estimate(gpu=) or enable(gpu=)."
    )


def _words(name: str) -> frozenset[str]:
    """Return the words of a name that matter: "Tesla V100-SXM2-16GB" -> v100, sxm, 16."""
    text = re.sub(r"sxm\d", "sxm", name.lower().replace("hbm3", "sxm"))
    text = re.sub(r"\b[rg]tx|gi?b\b", "", re.sub(r"(\d)ti\b", r"\1 ti", text))
    return frozenset(re.findall(r"[a-z0-9]+", text)) - _FILLER
