"""The text of the project avoids words that sound old, translated or British.

The rule reads every Python file, page, template and configuration file that git tracks; lessons
and labs are read as `source/*.py`. Add a word to `WORDING` when a review finds one.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".md", ".toml", ".j2", ".yml", ".yaml", ".cfg", ".js", ".css"}
NAMES = {"Makefile", "Containerfile"}
# This file contains the banned words.
SKIPPED = {Path(__file__).relative_to(ROOT).as_posix(), "LICENSE", "environment.yml"}

# Translations, and the pages built from them.
OTHER_LANGUAGES = re.compile(r"locale/|docs/[a-z]{2}/")

# A case-insensitive pattern, and what to write instead. An underscore counts as a space, so names
# are checked like sentences.
WORDING = {
    r"mend(s|ed|ing)?": "fix",
    r"anew": "again",
    r"amiss": "wrong",
    r"midst": "during",
    r"beneath": "under",
    r"whilst|thither|hither|hitherto|lest|wherein|whereof|thereof|hereby|shall|upon": "plain words",
    r"(lie|lies|lay|lying) (on|in|beside|below|under) the": "is on, is in",
    r"(to|can|cannot|could not|can not) be had": "is (not) available",
    r"(?<!there )(is|are|was|were) no (?!(longer|more|less|other|fewer|better|worse|faster|slower|"
    r"larger|smaller|different)\b)\w+": "is not a",
    r"can be no": "is not a valid",
    r"what c(ame|omes) of": "the result of",
    r"of (its|their) own accord": "automatically",
    r"colou(r|rs|red|ring|rful)": "color",
    r"grey|greyed": "gray",
    r"licences?": "license",
    r"practis(e|es|ed|ing)": "practice",
    r"(recogn|organ|normal|initial|optim|summar|visual)is(e|es|ed|ing|ation|er)": "-ize",
    r"(synchron|util|real|(re)?parameter)is(e|es|ed|ing|ation)": "-ize",
    r"(behavi|hon|fav|neighb|lab)our(s|ed|ing|ite|ites|able)?": "-or",
    r"judgement|defence|offence|centre|metre|modelling|travelling|cancelled|labelled": (
        "American spelling"
    ),
    r"stands in|stood in": "is in, takes the place of",
    r"stand for (?!the|a|an\b)": "mean",
    r"shut in|walls": "sandboxed, sandbox",
    r"rehears(e|es|ed|al|als|ing)": "preflight",
    r"sittings?": "session",
    r"for the one who|whoever|whosoever": "for a person who",
    r"(time|memory|cost|bytes|seconds|milliseconds|error|points) an? "
    r"(image|step|epoch|batch|run|cell|lesson|test)": "per image",
    r"(images|bytes|samples|runs|steps|requests) an? (second|minute)": "per second",
    r"as many times|how many times as|(twice|times) as (many|much|long|fast) an?": "times more",
    r"(?<!standard )(?<!absolute )(?<!relative )deviations?": "standard deviation, difference",
    r"goes? unseen|goes on from": "continues from",
    r"in (its|their) stead|in the place of": "instead of",
}
_PATTERNS = {
    re.compile(rf"(?<![a-z])(?:{pattern})(?![a-z])"): advice for pattern, advice in WORDING.items()
}


def findings_in(text: str, name: str) -> list[str]:
    """Return one line for each banned wording in `text`, as `name:line: wording -> advice`."""
    words = text.replace("_", " ").lower()
    return [
        f"{name}:{words.count(chr(10), 0, match.start()) + 1}: {match.group()!r} -> {advice}"
        for pattern, advice in _PATTERNS.items()
        for match in pattern.finditer(words)
    ]


def test_text_is_contemporary_american_english():
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        pytest.skip("not a git clone")
    findings = []
    for name in process.stdout.split("\0"):
        path = ROOT / name
        is_text = path.suffix in SUFFIXES or path.name in NAMES
        if is_text and path.is_file() and name not in SKIPPED and not OTHER_LANGUAGES.match(name):
            findings += findings_in(path.read_text(encoding="utf-8"), name)
    assert not findings, "\n" + "\n".join(findings)
