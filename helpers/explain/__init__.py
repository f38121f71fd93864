"""Explain a device error in the student's own words: what is where, why, and what to write.

`explain(error)` explains an error that was caught, `with explain():` one that comes in a block,
and after `install()` a notebook shows the box under the traceback of a cell that fails.
"""

from __future__ import annotations

from helpers.explain.block import ExplainedBlock, explain
from helpers.explain.box import Explanation
from helpers.explain.notebook import install, uninstall

__all__ = ["ExplainedBlock", "Explanation", "explain", "install", "uninstall"]
