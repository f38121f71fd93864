"""A download ends in the right file or in an error soon, whatever the servers do."""

import errno
import hashlib
import os
import random
import resource
import time

import pytest

from helpers.cifar10.attempt import DownloadError, File, Patience
from helpers.cifar10.download import download

DATA = random.Random(0).randbytes(150_000)
EXPECTED = File(len(DATA), hashlib.md5(DATA).hexdigest())
# Everything scaled down alike: a tenth to a thousandth of what a course waits for.
QUICK = Patience(total=8, connect=2, stall=1, grace=0.2, rate=100_000)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "archive"


def part_of(target):
    return target.with_name("archive.part")


def error_of(urls, target, patience=QUICK) -> str:
    with pytest.raises(DownloadError) as info:
        download(urls, target, EXPECTED, patience)
    assert not target.exists()
    return str(info.value)


def fetch(urls, target, patience=QUICK):
    host = download(urls, target, EXPECTED, patience)
    assert target.read_bytes() == DATA
    assert not part_of(target).exists()
    return host


def test_the_file_arrives_and_the_host_is_named(serve, target):
    assert fetch([serve(DATA).url], target) == "127.0.0.1"


def test_a_server_that_answers_503_is_passed_over(serve, target):
    fetch([serve(DATA, status=503).url, serve(DATA).url], target)


def test_503_everywhere_is_an_error_that_says_so(serve, target):
    assert "127.0.0.1: it answered 503" in error_of([serve(DATA, status=503).url], target)


def test_no_server_there_is_an_error_soon(target):
    start = time.monotonic()
    assert "no connection" in error_of(["http://127.0.0.1:9/archive"], target)
    assert time.monotonic() - start < 4


def test_a_server_that_never_answers_is_passed_over(serve, target):
    hanging = serve(DATA, hang=True)
    start = time.monotonic()
    fetch([hanging.url, serve(DATA).url], target)
    assert time.monotonic() - start < 6
    assert len(hanging.asked) == 1


def test_a_server_that_stops_sending_is_passed_over_and_resumed_elsewhere(serve, target):
    stopping, good = serve(DATA, freeze=100_000), serve(DATA)
    fetch([stopping.url, good.url], target)
    assert good.asked == ["bytes=100000-"]


def test_a_slow_server_is_left_for_a_faster_one_that_goes_on_where_it_stopped(serve, target):
    slow, fast = serve(DATA, rate=60_000), serve(DATA)
    fetch([slow.url, fast.url], target)
    (resumed,) = fast.asked
    assert int(resumed.removeprefix("bytes=").rstrip("-")) > 0


def test_a_slow_server_is_taken_after_all_where_the_others_fail(serve, target):
    slow, broken = serve(DATA, rate=60_000), serve(DATA, status=503)
    fetch([slow.url, broken.url], target)
    assert len(slow.asked) == 2


def test_a_server_too_slow_for_the_time_limit_is_given_up_at_once(serve, target):
    """55 kB/s for 170 MB within five minutes, a thousand times smaller."""
    slow = serve(DATA, rate=10_000)
    start = time.monotonic()
    message = error_of([slow.url], target)
    assert time.monotonic() - start < 4
    assert "slow, " in message
    assert "the time limit is 8 s" in message
    assert part_of(target).stat().st_size > 0


def test_the_time_limit_holds_over_all_servers(serve, target):
    patience = Patience(total=0.6, connect=2, stall=1, grace=9, rate=0)
    start = time.monotonic()
    message = error_of([serve(DATA, rate=60_000).url, serve(DATA).url], target, patience)
    assert time.monotonic() - start < 4
    assert "the time limit of 1 s was over" in message


def test_a_download_cut_off_is_resumed_at_the_same_server(serve, target):
    server = serve(DATA, cut=100_000)
    fetch([server.url], target)
    assert server.asked == [None, "bytes=100000-"]


def test_a_download_is_resumed_from_an_earlier_attempt(serve, target):
    part_of(target).write_bytes(DATA[:120_000])
    server = serve(DATA)
    fetch([server.url], target)
    assert server.asked == ["bytes=120000-"]


def test_a_server_that_cannot_resume_sends_everything(serve, target):
    part_of(target).write_bytes(DATA[:120_000])
    server = serve(DATA, ranges=False)
    fetch([server.url], target)
    assert len(server.asked) == 1


def test_an_earlier_attempt_that_was_damaged_is_dropped(serve, target):
    part_of(target).write_bytes(b"x" * 120_000)
    server = serve(DATA)
    fetch([server.url], target)
    assert server.asked == ["bytes=120000-", None]


def test_an_earlier_attempt_longer_than_the_file_is_dropped(serve, target):
    part_of(target).write_bytes(DATA + b"more")
    fetch([serve(DATA).url], target)


def test_another_file_of_the_same_size_is_refused_and_the_next_server_asked(serve, target):
    fetch([serve(DATA[::-1]).url, serve(DATA).url], target)


def test_a_wrong_checksum_everywhere_is_an_error_and_nothing_is_kept(serve, target):
    assert "the checksum is wrong" in error_of([serve(DATA[::-1]).url], target)
    assert not part_of(target).exists()


def test_a_page_in_place_of_the_file_is_refused_by_its_size(serve, target):
    """What a hotel's network sends until one has signed in."""
    part_of(target).write_bytes(DATA[:100])
    message = error_of([serve(b"<html>Welcome</html>").url], target)
    assert "it offers 20 bytes, the file has 150,000" in message
    assert part_of(target).read_bytes() == DATA[:100]


def test_a_local_file_can_be_a_mirror(tmp_path, target):
    (tmp_path / "copy").write_bytes(DATA)
    fetch([(tmp_path / "copy").as_uri()], target)


@pytest.mark.parametrize(
    "address", ["example.org/archive", "http://", "http://a b/", "ftp://[", ""]
)
def test_a_mistyped_address_is_passed_over(serve, target, address):
    fetch([address, serve(DATA).url], target)


def test_servers_with_the_same_trouble_are_told_of_together(target):
    message = error_of(["http://127.0.0.1:9/a", "http://localhost:9/a"], target)
    assert message.startswith("127.0.0.1, localhost: no connection")


def test_a_full_disk_is_an_error_and_the_part_goes(serve, target):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        message = error_of([serve(DATA).url], target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"cannot take the download: {os.strerror(errno.EFBIG)}" in message
    assert not part_of(target).exists()


def test_a_progress_bar_shows_the_host_on_stderr(serve, target, capsys):
    download([serve(DATA).url], target, EXPECTED, QUICK, progress=True)
    shown = capsys.readouterr()
    assert "archive from 127.0.0.1" in shown.err
    assert shown.out == ""


def test_without_a_progress_bar_nothing_is_shown(serve, target, capfd):
    fetch([serve(DATA).url], target)
    assert capfd.readouterr() == ("", "")
