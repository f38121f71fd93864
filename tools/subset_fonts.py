"""Write the fonts of figures in Chinese, Japanese and Korean: `python -m tools.subset_fonts`.

`helpers/plots/fonts/LANGUAGE.otf` has the characters of the translated texts that matplotlib's own
font lacks. `make build` runs this first. The source is Noto Sans CJK, Debian's fonts-noto-cjk.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import get_data_path

from course.course_folder import open_course
from course.translation.course_translation import read_translation

ROOT = Path(__file__).parents[1]
FONTS = ROOT / "helpers" / "plots" / "fonts"
SOURCE = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
# The number of each language's variant in the source: the same character looks different in each.
VARIANTS = {"ja": 0, "ko": 1, "zh": 2}


def missing_characters(language: str) -> set[str]:
    """Return the characters of a language's texts that neither of the two fonts has."""
    file = FONTS / f"{language}.otf"
    return needed_characters(language) - (_characters_of(file) if file.is_file() else set())


def needed_characters(language: str) -> set[str]:
    """Return the characters of a language's texts that matplotlib's own font lacks."""
    texts = read_translation(open_course(ROOT), language).runtime_texts().values()
    own = _characters_of(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    return {character for character in "".join(texts) if character.isprintable()} - own


def write_font(language: str, source: Path) -> Path:
    """Write the font of one language; return its path."""
    font = TTFont(source, fontNumber=VARIANTS[language])
    options = subset.Options(hinting=False, layout_features=[], name_languages=[0x409])
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]  # with copyright and license
    options.drop_tables += ["BASE", "GPOS", "GSUB", "VORG", "vhea", "vmtx"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(needed_characters(language)))
    subsetter.subset(font)
    font["head"].modified = font["head"].created  # the same texts give the same file
    path = FONTS / f"{language}.otf"
    font.save(path)
    return path


def _characters_of(file: Path) -> set[str]:
    return set(map(chr, TTFont(file).getBestCmap()))


if __name__ == "__main__":
    for code in filter(missing_characters, VARIANTS):
        if not SOURCE.is_file():
            sys.exit(f"{SOURCE} does not exist. To install it: apt-get install fonts-noto-cjk")
        written = write_font(code, SOURCE)
        print(f"{written}: {written.stat().st_size / 1000:.0f} kB")
