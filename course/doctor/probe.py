"""A program that `course doctor` runs: imports torch and prints as JSON what it finds."""

import importlib
import json
import sys
import warnings


def main() -> None:
    """Ask torch, then the course's data set; print the answers even if the second one fails."""
    # The folder of this file is not a place to import from.
    del sys.path[0]
    torch = importlib.import_module("torch")
    answer = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "devices": [],
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if torch.cuda.is_available():
            count = range(torch.cuda.device_count())
            answer["devices"] = [f"cuda:{n} {torch.cuda.get_device_name(n)}" for n in count]
        elif torch.backends.mps.is_available():
            answer["devices"] = ["mps"]
    if caught:
        answer["cuda_trouble"] = str(caught[-1].message).splitlines()[0]
    # Now already: what follows may end in an error that nobody has thought of.
    print(json.dumps(answer), flush=True)
    cifar10 = importlib.import_module("helpers.cifar10")
    try:
        # () is no mirror: nothing is downloaded here.
        answer["data"] = cifar10.load("cifar10", mirrors=(), progress=False).provenance
    except cifar10.DataError as error:
        answer["data_trouble"] = str(error)
        answer["unreachable"] = unreachable()
    print(json.dumps(answer))


def unreachable() -> bool:
    """Whether no server of CIFAR-10 takes a connection."""
    servers = importlib.import_module("helpers.cifar10.official").servers(None)
    probe = importlib.import_module("helpers.cifar10.connections").ConnectionProbe(servers, 3)
    return all(probe.failure(url) for url in servers)


if __name__ == "__main__":
    main()
