"""Keep a notebook of the course as it was if it is only opened and saved, so `git pull` accepts it.

Jupyter reads this file together with `config.json`. When a kernel starts, JupyterLab replaces the
kernel's metadata in the notebook, which contain the version of Python, and saves the notebook.
"""

import json
import warnings
from pathlib import Path


def keep_kernel_metadata(model, path, contents_manager, **_):
    """Replace the kernel's metadata in a notebook of the course with those in its stored file."""
    file = Path(contents_manager.root_dir, path.strip("/"))
    if model["type"] != "notebook" or not file.is_file():
        return
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))["metadata"]
    except (ValueError, KeyError):
        return
    if "course" in stored:
        kept = {key: stored[key] for key in ("kernelspec", "language_info") if key in stored}
        model["content"]["metadata"].update(kept)


# The server reads its configuration several times.
warnings.filterwarnings("ignore", "Overriding existing pre_save_hook")
get_config().FileContentsManager.pre_save_hook = keep_kernel_metadata
