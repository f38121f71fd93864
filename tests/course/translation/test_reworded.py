"""An English text that is reworded does not keep the translation of the old one."""

import subprocess
from difflib import SequenceMatcher
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).parents[3]


def reworded(before: polib.POFile, now: polib.POFile) -> list[str]:
    """Return English texts that have changed, while their translation has not.

    `course translate update` marks such a translation as fuzzy. A search and replace in all files
    changes `msgid` too, so that nothing would ask a translator to look at it again.
    """
    old = {entry.msgstr: entry.msgid for entry in before if entry.msgstr}
    english = {entry.msgid for entry in before}
    return [
        entry.msgid
        for entry in now
        if entry.msgstr
        and not entry.fuzzy
        and entry.msgid not in english
        # The same translation may serve two English texts, such as "the lab" and "the lab:".
        and SequenceMatcher(None, old.get(entry.msgstr, entry.msgid), entry.msgid).ratio() < 0.97
    ]


def committed(path: Path, commit: str) -> polib.POFile:
    name = f"{commit}:{path.relative_to(ROOT)}"
    shown = subprocess.run(["git", "show", name], cwd=ROOT, capture_output=True, text=True)
    if shown.returncode:
        pytest.skip(f"no earlier version: {shown.stderr.strip()}")
    return polib.pofile(shown.stdout)


@pytest.mark.parametrize("commit", ["HEAD", "HEAD~1"])
@pytest.mark.parametrize("path", sorted(ROOT.glob("locale/**/*.po")), ids=lambda p: p.parent.name)
def test_no_changed_english_text_keeps_its_translation(path, commit):
    assert reworded(committed(path, commit), polib.pofile(path)) == []


def test_a_search_and_replace_is_found():
    before, now = polib.POFile(), polib.POFile()
    before.append(polib.POEntry(msgid="Run this in a clone.", msgstr="Ejecútalo en un clon."))
    now.append(polib.POEntry(msgid="Run it in any folder.", msgstr="Ejecútalo en un clon."))
    assert reworded(before, now) == ["Run it in any folder."]
    now[0].flags.append("fuzzy")
    assert reworded(before, now) == []
