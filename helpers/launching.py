"""Run PyTorch's launcher `torchrun` from a notebook, with workers that start in milliseconds."""

import json
import multiprocessing
import os
import re
import shlex
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Importing torch takes seconds. One process imports these modules once; the launchers are forked
# from it, and the workers from the launchers.
_PRELOADED = ["torch.distributed.run", "torch.distributed.fsdp", "torch._dynamo"]
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    # Otherwise restarted workers can read the addresses of the workers that exited, and connect
    # to them: https://github.com/pytorch/pytorch/issues/135712
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}
_COURSE = Path(__file__).resolve().parents[1]


def torchrun(*arguments: str | Path, nodes: int = 1, expect_failure: bool = False) -> None:
    """Run `torchrun` with these arguments; print the command and what each process prints.

    The lines are ordered by rank, not by time. Standard error is shown if the run fails.

    `arguments` are options of torchrun, the script, and its options; a string may contain several.
    Each of the emulated `nodes` has its own launcher on this machine and no GPU, because all would
    use GPU 0, which NCCL refuses. With `expect_failure`, the failure report is printed instead of
    raising RuntimeError.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        raise RuntimeError("this system cannot fork processes. On Windows, use WSL.")
    words = []
    for argument in arguments:
        words += [str(argument)] if isinstance(argument, Path) else shlex.split(argument)
    rendezvous = ["--standalone"]
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        master = f"--master-addr localhost --master-port {listener.getsockname()[1]}"
    if nodes > 1:
        rendezvous = [f"--nnodes {nodes} --node-rank {i} {master}" for i in range(nodes)]
    for options in rendezvous:
        command = " ".join([options, *words]).replace(f"{Path.cwd()}/", "")
        command = command.replace(f"{_COURSE}/", "")
        hidden = "CUDA_VISIBLE_DEVICES= " if nodes > 1 else ""
        print(f"$ {hidden}torchrun", re.sub(r"(?<=--master-port )\d+", "PORT", command))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        failed = _run([[*options.split(), *words] for options in rendezvous], folder)
        for rank, attempt, text in _logs(folder, "stdout.log"):
            restart = f", restart {attempt}" if attempt else ""
            for line in text.splitlines():
                print(f"[rank {rank}{restart}] {line}")
        if failed:
            report = _failure_report(folder)
            if not expect_failure:
                raise RuntimeError(f"torchrun failed.\n{report}")
            print(report)


def _run(commands: list[list[str]], folder: Path) -> bool:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    launchers = [
        context.Process(target=_launch, args=(command, folder / f"node_{node}", len(commands) > 1))
        for node, command in enumerate(commands)
    ]
    for launcher in launchers:
        launcher.start()
    try:
        for launcher in launchers:
            launcher.join()
    finally:
        for launcher in launchers:  # interrupted: torchrun stops its workers on SIGTERM
            launcher.terminate()
            launcher.join()
    return any(launcher.exitcode != 0 for launcher in launchers)


def _launch(arguments: list[str], folder: Path, hide_gpus: bool) -> None:
    from torch.distributed.run import main

    folder.mkdir()
    log = os.open(folder / "launcher.log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(_ENVIRONMENT | ({"CUDA_VISIBLE_DEVICES": ""} if hide_gpus else {}))
    options = ["--run-path", "--start-method", "fork", "--redirects", "3", "--log-dir", str(folder)]
    try:
        main([*options, *arguments])
    except Exception as error:
        print(error, file=sys.stderr)
        sys.exit(1)


def _logs(folder: Path, filename: str) -> Iterator[tuple[int, int, str]]:
    """Yield rank, number of restarts and text of each worker's log, by restart and rank."""
    logs = []
    for path in folder.rglob(filename):
        node = int(path.relative_to(folder).parts[0].removeprefix("node_"))
        attempt = int(path.parent.parent.name.removeprefix("attempt_"))
        # Every node has the same number of workers.
        workers = sum(1 for _ in path.parent.parent.iterdir())
        logs.append((attempt, node * workers + int(path.parent.name), path))
    for attempt, rank, path in sorted(logs):
        yield rank, attempt, path.read_text(errors="replace")


def _failure_report(folder: Path) -> str:
    lines = [
        f"[rank {rank}, standard error] {text.rstrip().splitlines()[-1]}"
        for rank, _, text in _logs(folder, "stderr.log")
        if text.strip()
    ]
    # An exception that a worker did not catch is in a separate file. Workers that the launcher
    # terminates report a SignalException, which the command `torchrun` does not show.
    for rank, _, text in _logs(folder, "error.json"):
        message = json.loads(text)["message"]["message"]
        if not message.startswith("SignalException"):
            lines.append(f"[rank {rank}] {message}")
    for path in sorted(folder.glob("node_*/launcher.log")):
        log = path.read_text(errors="replace")
        cause = re.search(r"Root Cause.*?rank +: (\d+).*?exitcode +: (-?\d+)", log, re.DOTALL)
        found = cause and f"torchrun: rank {cause[1]} failed first, with exit code {cause[2]}"
        lines.append(found or log[-2000:])
    return "\n".join(lines)
