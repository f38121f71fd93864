"""A download ends quickly with the right file or an error, whatever the servers do."""

import errno
import hashlib
import os
import random
import resource
import time

import pytest

from helpers.cifar10.download import DownloadError, File, TimeLimits, download

DATA = random.Random(0).randbytes(150_000)
EXPECTED = File(len(DATA), hashlib.md5(DATA).hexdigest())
# Shorter than the defaults, so that the tests are fast.
QUICK = TimeLimits(total=8, connect=2, stall=1, grace=0.2, rate=100_000)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "archive"


def partial_file(target):
    return target.with_name("archive.part")


def error_of(urls, target, time_limits=QUICK) -> str:
    with pytest.raises(DownloadError) as info:
        download(urls, target, EXPECTED, time_limits)
    assert not target.exists()
    return str(info.value)


def fetch(urls, target, time_limits=QUICK):
    host = download(urls, target, EXPECTED, time_limits)
    assert target.read_bytes() == DATA
    assert not partial_file(target).exists()
    return host


def test_downloads_file_and_returns_host(serve, target):
    assert fetch([serve(DATA).url], target) == "127.0.0.1"


def test_skips_server_that_answers_503(serve, target):
    fetch([serve(DATA, status=503).url, serve(DATA).url], target)


def test_reports_503_from_every_server(serve, target):
    assert "127.0.0.1: the server returned 503" in error_of([serve(DATA, status=503).url], target)


def test_unreachable_server_fails_quickly(target):
    start = time.monotonic()
    assert "no connection" in error_of(["http://127.0.0.1:9/archive"], target)
    assert time.monotonic() - start < 4


def test_skips_server_that_never_answers(serve, target):
    hanging = serve(DATA, hang=True)
    start = time.monotonic()
    fetch([hanging.url, serve(DATA).url], target)
    assert time.monotonic() - start < 6
    assert len(hanging.ranges_requested) == 1


def test_resumes_from_next_server_after_stall(serve, target):
    stalling, good = serve(DATA, freeze=100_000), serve(DATA)
    fetch([stalling.url, good.url], target)
    assert good.ranges_requested == ["bytes=100000-"]


def test_resumes_from_faster_server(serve, target):
    slow, fast = serve(DATA, rate=60_000), serve(DATA)
    fetch([slow.url, fast.url], target)
    (resumed,) = fast.ranges_requested
    assert int(resumed.removeprefix("bytes=").rstrip("-")) > 0


def test_uses_slow_server_if_others_fail(serve, target):
    slow, broken = serve(DATA, rate=60_000), serve(DATA, status=503)
    fetch([slow.url, broken.url], target)
    assert len(slow.ranges_requested) == 2


def test_skips_server_too_slow_for_time_limit(serve, target):
    slow = serve(DATA, rate=10_000)  # the file would take 15 s
    start = time.monotonic()
    message = error_of([slow.url], target)
    assert time.monotonic() - start < 4
    assert "slow, " in message
    assert "the time limit is 8 s" in message
    assert partial_file(target).stat().st_size > 0


def test_time_limit_covers_all_servers(serve, target):
    time_limits = TimeLimits(total=0.6, connect=2, stall=1, grace=9, rate=0)
    start = time.monotonic()
    message = error_of([serve(DATA, rate=60_000).url, serve(DATA).url], target, time_limits)
    assert time.monotonic() - start < 4
    assert "the time limit of 1 s was reached" in message


def test_resumes_from_same_server_after_disconnect(serve, target):
    server = serve(DATA, cut=100_000)
    fetch([server.url], target)
    assert server.ranges_requested == [None, "bytes=100000-"]


def test_resumes_earlier_attempt(serve, target):
    partial_file(target).write_bytes(DATA[:120_000])
    server = serve(DATA)
    fetch([server.url], target)
    assert server.ranges_requested == ["bytes=120000-"]


def test_server_without_ranges_sends_whole_file(serve, target):
    partial_file(target).write_bytes(DATA[:120_000])
    server = serve(DATA, ranges=False)
    fetch([server.url], target)
    assert len(server.ranges_requested) == 1


def test_discards_damaged_earlier_attempt(serve, target):
    partial_file(target).write_bytes(b"x" * 120_000)
    server = serve(DATA)
    fetch([server.url], target)
    assert server.ranges_requested == ["bytes=120000-", None]


def test_discards_earlier_attempt_that_is_too_long(serve, target):
    partial_file(target).write_bytes(DATA + b"more")
    fetch([serve(DATA).url], target)


def test_wrong_checksum_moves_on_to_next_server(serve, target):
    fetch([serve(DATA[::-1]).url, serve(DATA).url], target)


def test_wrong_checksum_on_every_server_leaves_no_file(serve, target):
    assert "the checksum is wrong" in error_of([serve(DATA[::-1]).url], target)
    assert not partial_file(target).exists()


def test_refuses_sign_in_page_by_size(serve, target):
    """Networks with a sign-in page answer every request with that page."""
    partial_file(target).write_bytes(DATA[:100])
    message = error_of([serve(b"<html>Welcome</html>").url], target)
    assert "it offers 20 bytes; expected 150,000" in message
    assert partial_file(target).read_bytes() == DATA[:100]


def test_accepts_local_file_as_mirror(tmp_path, target):
    (tmp_path / "copy").write_bytes(DATA)
    fetch([(tmp_path / "copy").as_uri()], target)


@pytest.mark.parametrize(
    "address", ["example.org/archive", "http://", "http://a b/", "ftp://[", ""]
)
def test_skips_malformed_address(serve, target, address):
    fetch([address, serve(DATA).url], target)


def test_groups_servers_with_same_failure(target):
    message = error_of(["http://127.0.0.1:9/a", "http://localhost:9/a"], target)
    assert message.startswith("127.0.0.1, localhost: no connection")


def test_write_error_is_reported_and_partial_file_is_removed(serve, target):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        message = error_of([serve(DATA).url], target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"cannot be written to {target.parent}: {os.strerror(errno.EFBIG)}" in message
    assert not partial_file(target).exists()


def test_progress_bar_names_host_on_stderr(serve, target, capsys):
    download([serve(DATA).url], target, EXPECTED, QUICK, progress=True)
    captured = capsys.readouterr()
    assert "archive from 127.0.0.1" in captured.err
    assert captured.out == ""


def test_prints_nothing_without_progress_bar(serve, target, capfd):
    fetch([serve(DATA).url], target)
    assert capfd.readouterr() == ("", "")
