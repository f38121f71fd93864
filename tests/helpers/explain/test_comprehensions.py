"""Variables of a comprehension are found without its frame, as in Python 3.12 and later."""

from collections import ChainMap
from dataclasses import replace

import pytest

from helpers.explain.cause import mismatch_in
from helpers.explain.source import student_sites
from helpers.explain.values import with_comprehension_variables

SETUP = "w = torch.ones(3, device=device)\nparts = [torch.ones(3), torch.ones(3)]\n"
CODES = {
    "a list": (SETUP + "[w * b for b in parts]", "b"),
    "pairs": (SETUP + "pairs = [(1, parts[0])]\n[w * b for a, b in pairs]", "b"),
    "an element of an element": (
        SETUP + "rows = [{'x': parts[0]}]\n[w * r['x'] for r in rows]",
        "r['x']",
    ),
    "a loop in a loop": (SETUP + "rows = [parts]\n[w * b for r in rows for b in r]", "b"),
    "the layers of a network": (
        SETUP + "net = nn.Sequential(nn.Linear(3, 2))\n[layer(w) for layer in net]",
        "layer.weight",
    ),
}


def site_without_comprehension_frame(error):
    site = student_sites(error.__traceback__)[0]
    return replace(site, names=ChainMap(*site.names.maps[-2:]))


@pytest.mark.parametrize(("code", "culprit"), CODES.values(), ids=CODES)
def test_the_variable_of_a_comprehension_is_the_culprit(student, code, culprit):
    site = site_without_comprehension_frame(student.error_of(code))
    assert mismatch_in(with_comprehension_variables(site)).culprits[0].text == culprit


def test_an_outer_variable_with_the_same_name_is_not_used(student):
    code = SETUP + "b = w\n[w * b for b in parts]"
    site = site_without_comprehension_frame(student.error_of(code))
    assert mismatch_in(site) is None
    assert mismatch_in(with_comprehension_variables(site)).culprits[0].text == "b"


def test_the_variable_of_a_comprehension_over_a_generator_is_unknown(student):
    code = SETUP + "[w * b for b in (p for p in parts)]"
    site = site_without_comprehension_frame(student.error_of(code))
    assert mismatch_in(with_comprehension_variables(site)) is None
