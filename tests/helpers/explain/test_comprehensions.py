"""The variables of a comprehension are known where Python has no frame for it, as since 3.12."""

from collections import ChainMap
from dataclasses import replace

import pytest

from helpers.explain.comprehensions import with_variables
from helpers.explain.culprit import judge
from helpers.explain.source import student_sites

W = "w = torch.ones(3, device=device)\nparts = [torch.ones(3), torch.ones(3)]\n"
CODES = {
    "a list": (W + "[w * b for b in parts]", "b"),
    "a list in place": (W + "[w * b for b in [parts[0]]]", "b"),
    "pairs": (W + "pairs = [(1, parts[0])]\n[w * b for a, b in pairs]", "b"),
    "numbered elements": (W + "[w * b for i, b in enumerate(parts)]", "b"),
    "two lists": (W + "[w * b for a, b in zip(parts, parts)]", "b"),
    "a dictionary": (W + "named = {'x': parts[0]}\n[w * b for k, b in named.items()]", "b"),
    "the values of a dictionary": (
        W + "named = {'x': parts[0]}\n{k: w * k for k in named.values()}",
        "k",
    ),
    "an element of an element": (
        W + "rows = [{'x': parts[0]}]\n[w * r['x'] for r in rows]",
        "r['x']",
    ),
    "a loop in a loop": (W + "rows = [parts]\n[w * b for r in rows for b in r]", "b"),
    "the layers of a network": (
        W + "net = nn.Sequential(nn.Linear(3, 2))\n[layer(w) for layer in net]",
        "layer.weight",
    ),
    "a loader": (
        W + "data = torch.utils.data.TensorDataset(torch.ones(2, 3))\n"
        "loader = torch.utils.data.DataLoader(data)\n[w * X for (X,) in loader]",
        "X",
    ),
}


def site_without_a_frame_for_the_comprehension(error):
    site = student_sites(error.__traceback__)[0]
    return replace(site, names=ChainMap(*site.names.maps[-2:]))


@pytest.mark.parametrize(("code", "culprit"), CODES.values(), ids=CODES)
def test_it_knows_the_variable_of_a_loop_over(student, code, culprit):
    site = site_without_a_frame_for_the_comprehension(student.error_of(code))
    assert judge(with_variables(site)).culprits[0].text == culprit


def test_a_variable_of_the_same_name_outside_is_not_mistaken_for_it(student):
    code = W + "b = w\n[w * b for b in parts]"
    site = site_without_a_frame_for_the_comprehension(student.error_of(code))
    assert judge(site) is None
    assert judge(with_variables(site)).culprits[0].text == "b"


def test_what_is_looped_over_unseen_stays_unknown(student):
    code = W + "[w * b for b in (p for p in parts)]"
    site = site_without_a_frame_for_the_comprehension(student.error_of(code))
    assert judge(with_variables(site)) is None
