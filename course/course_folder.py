"""Where a course keeps its notebooks and sources, and where it is published."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


class CourseError(Exception):
    """Something a person has to mend; its text says what was wrong, and what to do."""


@dataclass(frozen=True)
class CourseFolder:
    """A course on disk: lessons in `notebooks/`, labs in `labs/`, their texts in `source/` there.

    `repository` ("owner/name" on GitHub) and `tag` say where the published copy stands that
    badges and bootstrap cells point at.
    """

    root: Path
    repository: str
    tag: str

    @property
    def notebooks(self) -> Path:
        """Folder of the built lessons."""
        return self.root / "notebooks"

    @property
    def sources(self) -> Path:
        """Folder of the lessons as text."""
        return self.notebooks / "source"

    @property
    def labs(self) -> Path:
        """Folder of the exercises as a student gets them."""
        return self.root / "labs"

    @property
    def lab_sources(self) -> Path:
        """Folder of the labs as text."""
        return self.labs / "source"

    @property
    def solutions(self) -> Path:
        """Folder of the labs with answers, executed."""
        return self.labs / "solutions"

    @property
    def runs(self) -> Path:
        """Folder that `course run` writes into."""
        return self.root / "runs"

    def lesson_names(self) -> list[str]:
        """Names of all lessons that have a source, in the order of the course."""
        return sorted(path.stem for path in self.sources.glob("[!._]*.py"))

    def built_names(self) -> list[str]:
        """Names of all notebooks in the lessons' folder, in the order of the course."""
        return sorted(path.stem for path in self.notebooks.glob("[!._]*.ipynb"))

    def lab_names(self) -> list[str]:
        """Names of all labs that have a source, in the order of the course."""
        return sorted(path.stem for path in self.lab_sources.glob("[!._]*.py"))

    def lab_source_of(self, name: str) -> Path:
        """Where the text of lab `name` stands."""
        return self.lab_sources / f"{name}.py"

    def source_of(self, name: str) -> Path:
        """Where the text of lesson `name` stands."""
        return self.sources / f"{name}.py"

    def notebook_of(self, name: str) -> Path:
        """Where the built notebook of lesson `name` stands."""
        return self.notebooks / f"{name}.ipynb"


def open_course(root: Path | None = None) -> CourseFolder:
    """Find the course: `root`, or the nearest folder upward that has `notebooks/source`.

    Falls back on the copy that this package was installed from. Raises `CourseError` when
    there is no course, or its `pyproject.toml` does not say where it is published.
    """
    if root is not None:
        candidates = [Path(root)]
    else:
        here = Path.cwd()
        candidates = [here, *here.parents, Path(__file__).resolve().parents[1]]
    for folder in candidates:
        if (folder / "notebooks" / "source").is_dir():
            return _read(folder.resolve())
    raise CourseError(
        f"There is no course in {candidates[0]}: it has no folder notebooks/source. "
        "Go to the folder of the course, or name it with --root."
    )


def _read(root: Path) -> CourseFolder:
    file = root / "pyproject.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["course"]
        return CourseFolder(root, repository=table["repository"], tag=table["tag"])
    except FileNotFoundError:
        raise CourseError(f"{file} is missing; it says where the course is published.") from None
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{file} is not valid TOML: {error}.") from None
    except KeyError as missing:
        raise CourseError(
            f"{file} lacks {missing} under [tool.course]. It needs repository and tag, "
            'for instance repository = "owner/name" and tag = "main".'
        ) from None


def pick(names: list[str], asked: list[str], kind: str) -> list[str]:
    """The `asked` of `names`, in the course's order; all of them when none is asked for.

    A name may be given as a path, with its suffix, or by its number or any other beginning
    that only one of them has: `04`, `04_cifar10_on_gpu`, `notebooks/04_cifar10_on_gpu.ipynb`.
    Raises `CourseError` naming what there is when one is unknown or could be several.
    """
    if not asked:
        return names
    chosen = set()
    for word in asked:
        stem = Path(word).name.removesuffix(".ipynb").removesuffix(".py")
        stem = stem.zfill(2) if stem.isdigit() else stem
        fitting = [stem] if stem in names else [n for n in names if stem and n.startswith(stem)]
        if len(fitting) != 1:
            problem = "could be " + " or ".join(fitting) if fitting else "is not here"
            known = ", ".join(names) or "none"
            raise CourseError(f"{kind} {word!r} {problem}. There is: {known}.")
        chosen.update(fitting)
    return [name for name in names if name in chosen]
