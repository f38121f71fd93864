"""The ladder keeps what helps, leaves out what does not, and continues after a failure."""

import pytest
import torch

from helpers import ladder as module
from helpers.ladder import CHANGES, Ladder
from helpers.steps import Setting
from helpers.timing import Comparison, Measurement


@pytest.fixture
def part():
    return torch.zeros(512, 3, 32, 32, dtype=torch.uint8), torch.zeros(512, dtype=torch.int64)


def speeds(monkeypatch, seconds):
    """Replace measuring by the times that `seconds` gives for the settings."""

    def compared(self, base, setting):
        found = {"without": seconds(base), "with": seconds(setting)}
        return Comparison({k: Measurement(k, (v,) * 7, "cpu") for k, v in found.items()})

    monkeypatch.setattr(Ladder, "_compare", compared)
    monkeypatch.setattr(module, "why_not", lambda setting, device: "")


def one_helps_one_hurts(setting):
    return (0.5 if setting.resident else 1.0) * (3.0 if setting.bf16 else 1.0)


def test_changes_that_help_are_kept_and_others_are_not(part, monkeypatch):
    speeds(monkeypatch, one_helps_one_hurts)
    climb, top = Ladder(*part, "cpu").climb()
    assert [rung.name for rung in climb if rung.kept] == ["resident data", "what helped"]
    assert top == Setting(resident=True)


def test_last_rungs_are_compared_with_the_classic_script(part, monkeypatch):
    speeds(monkeypatch, one_helps_one_hurts)
    helped, everything = Ladder(*part, "cpu").climb()[0][-2:]
    assert (helped.ratio, everything.ratio) == pytest.approx((2.0, 2 / 3))


def test_alone_each_change_is_measured_on_the_classic_script(part, monkeypatch):
    bases = []

    def compared(self, base, setting):
        bases.append(base)
        return Comparison({k: Measurement(k, (1.0,) * 7, "cpu") for k in ("without", "with")})

    monkeypatch.setattr(Ladder, "_compare", compared)
    monkeypatch.setattr(module, "why_not", lambda setting, device: "")
    rungs = Ladder(*part, "cpu").alone()
    assert [rung.name for rung in rungs] == list(CHANGES)
    assert set(bases) == {Setting()}


def test_failing_compiler_affects_its_own_rung_only(part, monkeypatch):
    def seconds(setting):
        if setting.compiled:
            raise RuntimeError("cc1plus: no such thing\nand a long trace")
        return one_helps_one_hurts(setting)

    speeds(monkeypatch, seconds)
    climb, _ = Ladder(*part, "cpu").climb()
    notes = {rung.name: rung.note for rung in climb if rung.note}
    assert notes == {"torch.compile": "torch.compile failed here: cc1plus: no such thing"}
    assert climb[-1].name == "everything"


def test_any_other_failure_is_an_error(part, monkeypatch):
    def seconds(setting):
        raise RuntimeError("out of memory")

    speeds(monkeypatch, seconds)
    with pytest.raises(RuntimeError, match="out of memory"):
        Ladder(*part, "cpu").climb()


def test_a_change_can_be_left_out_with_its_reason(part, monkeypatch):
    speeds(monkeypatch, one_helps_one_hurts)
    climb, _ = Ladder(*part, "cpu", skip={"torch.compile": "takes a minute"}).climb()
    (left_out,) = [rung for rung in climb if rung.note]
    assert (left_out.name, left_out.note) == ("torch.compile", "takes a minute")
    assert left_out.finding == "not measured"


def test_rung_is_measured(part):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ladder = Ladder(*part, "cpu", rounds=3, seconds=0.01)
        rung = ladder.add(Setting(resident=True), "larger", {"batch_size": 512})
    finally:
        torch.set_num_threads(before)
    assert rung.ratio > 1
    assert 0 < rung.seconds_per_image < 0.1
