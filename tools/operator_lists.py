"""Write `simulated_cuda/operator_lists.py` from the operators of the installed torch.

    python -m tools.operator_lists

The source is `native_functions.yaml`, which is included in every torch wheel.
"""

import re
import sys
import textwrap
from pathlib import Path

import torch
import torchgen

_YAML = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
TARGET = Path(__file__).parents[1] / "simulated_cuda" / "operator_lists.py"
# `NoCheck` disables the device check in the wrapper. For element-wise and foreach operations, a
# comment in the file gives the reason; for the polynomials, there is no comment.
_ELEMENTWISE = re.compile(r"device_check: NoCheck +# *(TensorIterator|foreach)")
_POLYNOMIAL = re.compile(r"special_\w*polynomial_")
_UNCHECKED = re.compile(r"device_check: NoCheck")
_STRUCTURED = re.compile(r"^  structured(_delegate)?: ", re.MULTILINE)

_TEXT = '''\
"""Lists of PyTorch's primitive operations. Written by `python -m tools.operator_lists`.

From `native_functions.yaml` of torch {version}. `ELEMENTWISE` lists the element-wise operations,
marked `device_check: NoCheck`; `STRUCTURED` lists those with a structured kernel, which changes the
name of their generated wrapper. Names omit the trailing underscore of in-place operations.
"""

TORCH = "{version}"

ELEMENTWISE = """
{elementwise}
"""

STRUCTURED = """
{structured}
"""
'''


def parse_operators(text: str) -> tuple[list[str], list[str]]:
    """Return the names of the element-wise operations and of the structured operations."""
    elementwise, structured = set(), set()
    for entry in re.split(r"^- func: ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"\w+", entry)[0]
        if not name.endswith("__"):
            name = name.removesuffix("_")
        polynomial = _POLYNOMIAL.match(name) and _UNCHECKED.search(entry)
        if polynomial or _ELEMENTWISE.search(entry):
            elementwise.add(name)
        if _STRUCTURED.search(entry):
            structured.add(name)
    return sorted(elementwise), sorted(structured)


def generate_module() -> str:
    """Return the text of the module for the installed torch."""
    elementwise, structured = (
        textwrap.fill(" ".join(names), 100, break_long_words=False, break_on_hyphens=False)
        for names in parse_operators(_YAML.read_text(encoding="utf-8"))
    )
    version = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    return _TEXT.format(version=version, elementwise=elementwise, structured=structured)


def main() -> int:
    """Write the module."""
    TARGET.write_text(generate_module(), encoding="utf-8")
    print(f"Wrote {TARGET}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
