"""The folders of a course, and the repository where it is published."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

# Stands for the repository until the first `course release`. No repository has this name.
PLACEHOLDER_REPOSITORY = "gpu-course-kit/gpu-course-kit"


class CourseError(Exception):
    """An error that the user can fix; the message describes the problem and the fix."""


@dataclass(frozen=True)
class CourseFolder:
    """A course on disk: lessons in `notebooks/`, labs in `labs/`, both with a folder `source`.

    Attributes:
        root: folder of the course.
        repository: "owner/name" on GitHub, where badges and setup cells point.
        tag: the tag or branch that they point to.
        notebooks, sources: folders of the built lessons, and of their sources.
        labs, lab_sources: folders of the labs for students, without answers, and of their sources.
        solutions: folder of the executed labs with answers.
        runs: folder of the results of `course run` and `course batch`.
    """

    root: Path
    repository: str
    tag: str

    notebooks = property(lambda self: self.root / "notebooks")
    sources = property(lambda self: self.notebooks / "source")
    labs = property(lambda self: self.root / "labs")
    lab_sources = property(lambda self: self.labs / "source")
    solutions = property(lambda self: self.labs / "solutions")
    runs = property(lambda self: self.root / "runs")

    def lesson_names(self) -> list[str]:
        """Return the names of all lessons that have a source, in order."""
        return sorted(path.stem for path in self.sources.glob("[!._]*.py"))

    def built_names(self) -> list[str]:
        """Return the names of all built lessons, in order."""
        return sorted(path.stem for path in self.notebooks.glob("[!._]*.ipynb"))

    def lab_names(self) -> list[str]:
        """Return the names of all labs that have a source, in order."""
        return sorted(path.stem for path in self.lab_sources.glob("[!._]*.py"))

    def lab_source_path(self, name: str) -> Path:
        """Return the path of the source of lab `name`."""
        return self.lab_sources / f"{name}.py"

    def source_path(self, name: str) -> Path:
        """Return the path of the source of lesson `name`."""
        return self.sources / f"{name}.py"

    def notebook_path(self, name: str) -> Path:
        """Return the path of the built notebook of lesson `name`."""
        return self.notebooks / f"{name}.ipynb"


def open_course(root: Path | None = None) -> CourseFolder:
    """Open the course in `root`, or the nearest one at or above the working directory.

    Falls back to the copy that this package was installed from.
    """
    cwd = Path.cwd()
    candidates = [cwd, *cwd.parents, Path(__file__).resolve().parents[1]]
    candidates = candidates if root is None else [Path(root)]
    for folder in candidates:
        if (folder / "notebooks" / "source").is_dir():
            return _read(folder.resolve())
    raise CourseError(
        f"There is no course in {candidates[0]}: it has no folder notebooks/source. "
        "Change to the folder of the course, or set it with --root."
    )


def _read(root: Path) -> CourseFolder:
    file = root / "pyproject.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["course"]
        return CourseFolder(root, repository=table["repository"], tag=table["tag"])
    except (FileNotFoundError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{file} is not a TOML file with [tool.course]: {error}.") from None
    except KeyError as missing:
        raise CourseError(
            f"{file} has no {missing}. It needs a table [tool.course] with repository and tag, "
            'for example repository = "owner/name" and tag = "main".'
        ) from None


def select_names(names: list[str], requested: list[str], kind: str) -> list[str]:
    """Return the requested names, in the order of `names`; all names if `requested` is empty.

    Accepts a path, a name, a number, or any unique prefix: `04`, `04_cifar10_on_gpu`,
    `notebooks/04_cifar10_on_gpu.ipynb`.

    Raises:
        CourseError: a name is unknown or ambiguous; the message lists all names.
    """
    if not requested:
        return names
    selected = set()
    for request in requested:
        stem = Path(request).name.removesuffix(".ipynb").removesuffix(".py")
        stem = stem.zfill(2) if stem.isdigit() else stem
        matches = [stem] if stem in names else [n for n in names if stem and n.startswith(stem)]
        if len(matches) != 1:
            problem = "matches " + " and ".join(matches) if matches else "does not exist"
            known = ", ".join(names) or "none"
            raise CourseError(f"{kind} {request!r} {problem}. Available: {known}.")
        selected.update(matches)
    return [name for name in names if name in selected]
