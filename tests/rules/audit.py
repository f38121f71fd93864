"""Count the cells of a notebook that nbval (of the extra `test`) compares: those with outputs."""

import re

from nbformat import NotebookNode
from nbval.plugin import find_comment_markers, find_metadata_tags

from course.authoring.stored_outputs import RESULT_TYPE

# Added to nbval's own list: output that differs between machines and runs.
# Reported results are shown in the report of a run; a lesson that discusses a result prints it.
NOT_COMPARED = (
    "stderr",
    RESULT_TYPE,
    "image/svg+xml",
    "application/pdf",
    "application/vnd.jupyter.widget-view+json",
)


def is_compared(cell: NotebookNode, patterns: list[tuple[str, str]]) -> bool:
    """Return whether nbval compares an output: no image, and not masked whole by `patterns`."""
    options = dict(find_metadata_tags(cell.metadata))
    options.update(find_comment_markers(cell.source))
    if options.get("skip") or not options.get("check", True) or cell.execution_count is None:
        return False
    return any(_has_content(output, patterns) for output in cell.outputs)


def _has_content(output: NotebookNode, patterns: list[tuple[str, str]]) -> bool:
    data = output.get("data", {})
    if output.output_type == "stream":
        texts = [] if output.name in NOT_COMPARED else [output.text]
    elif RESULT_TYPE in data or any(kind.startswith("image/") for kind in data):
        texts = []  # the text next to an image is its size or its description
    else:
        texts = [str(value) for kind, value in data.items() if kind not in NOT_COMPARED]
    for regex, _ in patterns:
        texts = [re.sub(regex, "", text) for text in texts]
    return any(re.search(r"\w", text) for text in texts)
