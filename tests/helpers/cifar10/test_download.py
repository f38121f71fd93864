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
QUICK = TimeLimits(total=8, stall=1, grace=0.2, rate=100_000)
# What each server does, the data of an earlier attempt, and the ranges that each is asked for.
DOWNLOADS = {
    "from one server": ([{}], b"", [[None]]),
    "after a server that answers 503": ([{"status": 503}, {}], b"", [[None], [None]]),
    "after a server that stalls": ([{"freeze": 10**5}, {}], b"", [[None], ["bytes=100000-"]]),
    "after a server that sends another file": ([{"wrong": True}, {}], b"", [[None], [None]]),
    "from a server that disconnects once": ([{"cut": 10**5}], b"", [[None, "bytes=100000-"]]),
    "rest of an earlier attempt": ([{}], DATA[:120_000], [["bytes=120000-"]]),
    "whole file without ranges": ([{"ranges": False}], DATA[:120_000], [["bytes=120000-"]]),
    "after a damaged attempt": ([{}], b"x" * 120_000, [["bytes=120000-", None]]),
}


@pytest.fixture
def target(tmp_path):
    return tmp_path / "archive"


def partial_file(target):
    return target.with_name("archive.part")


def fetch(urls, target):
    host = download(urls, target, EXPECTED, QUICK)
    assert target.read_bytes() == DATA
    assert not partial_file(target).exists()
    return host


def error_of(urls, target, limits=QUICK) -> str:
    start = time.monotonic()
    with pytest.raises(DownloadError) as info:
        download(urls, target, EXPECTED, limits)
    assert time.monotonic() - start < 4
    assert not target.exists()
    return str(info.value)


@pytest.mark.parametrize(("behaviors", "part", "ranges"), DOWNLOADS.values(), ids=DOWNLOADS)
def test_downloads_file(serve, target, capfd, behaviors, part, ranges):
    if part:
        partial_file(target).write_bytes(part)
    contents = [DATA[::-1] if behavior.pop("wrong", False) else DATA for behavior in behaviors]
    servers = [serve(data, **b) for data, b in zip(contents, behaviors, strict=True)]
    assert fetch([server.url for server in servers], target) == "127.0.0.1"
    assert [server.ranges_requested for server in servers] == ranges
    assert capfd.readouterr() == ("", "")


def test_uses_slow_server_only_if_others_fail(serve, target):
    slow, fast, broken = serve(DATA, rate=60_000), serve(DATA), serve(DATA, status=503)
    fetch([slow.url, fast.url], target)
    assert fast.ranges_requested not in ([], [None])
    fetch([slow.url, broken.url], target)
    assert len(slow.ranges_requested) == 3


def test_skips_malformed_address_and_reads_local_file(tmp_path, target):
    (tmp_path / "copy").write_bytes(DATA)
    fetch(["http://a b/", "ftp://[", "", (tmp_path / "copy").as_uri()], target)


def test_reports_each_servers_failure(serve, target):
    urls = ["http://127.0.0.1:9/a", "http://localhost:9/a", serve(DATA, status=503).url]
    message = error_of(urls, target)
    assert message.startswith("127.0.0.1, localhost: Connection refused")
    assert message.endswith("; 127.0.0.1: the server returned 503 Service Unavailable")


def test_gives_up_on_server_too_slow_for_time_limit(serve, target):
    message = error_of([serve(DATA, rate=10_000).url], target)  # the file would take 15 s
    assert "slow, " in message
    assert "the time limit is 8 s" in message
    assert partial_file(target).stat().st_size > 0


def test_time_limit_covers_all_servers(serve, target):
    limits = TimeLimits(total=0.6, stall=1, grace=9, rate=0)
    message = error_of([serve(DATA, rate=60_000).url, serve(DATA).url], target, limits)
    assert "the time limit of 1 s was reached" in message


def test_refuses_other_file_and_sign_in_page(serve, target):
    """Networks with a sign-in page answer every request with that page."""
    assert "the checksum is wrong" in error_of([serve(DATA[::-1]).url], target)
    assert not partial_file(target).exists()
    partial_file(target).write_bytes(DATA[:100])
    message = error_of([serve(b"<html>Welcome</html>").url], target)
    assert "it offers 20 bytes; expected 150,000" in message
    assert partial_file(target).read_bytes() == DATA[:100]


def test_write_error_is_reported_and_partial_file_is_removed(serve, target):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        message = error_of([serve(DATA).url], target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"cannot be written to {target.parent}: {os.strerror(errno.EFBIG)}" in message
    assert not partial_file(target).exists()
