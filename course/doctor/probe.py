"""A script that `course doctor` runs: imports torch and prints what it finds as JSON."""

import importlib
import json
import sys
import warnings


def main() -> None:
    """Print facts about torch, then about the data set, in case the second part fails."""
    # Do not import from the folder of this file.
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
            answer["capabilities"] = [torch.cuda.get_device_capability(n) for n in count]
            answer["architectures"] = torch.cuda.get_arch_list()
        elif torch.backends.mps.is_available():
            answer["devices"] = ["mps"]
    if caught:
        answer["cuda_trouble"] = str(caught[-1].message).splitlines()[0]
    # Before the data set, which may fail in unexpected ways.
    print(json.dumps(answer), flush=True)
    cifar10 = importlib.import_module("helpers.cifar10")
    try:
        # Without mirrors, nothing is downloaded.
        answer["data"] = cifar10.load("cifar10", mirrors=(), progress=False).provenance
    except cifar10.DataError as error:
        answer["data_trouble"] = str(error)
        answer["unreachable"] = unreachable()
    print(json.dumps(answer))


def unreachable() -> bool:
    """Whether no server of CIFAR-10 accepts a connection."""
    servers = importlib.import_module("helpers.cifar10.official").servers(None)
    probe = importlib.import_module("helpers.cifar10.connections").ConnectionProbe(servers, 3)
    return all(probe.failure(url) for url in servers)


if __name__ == "__main__":
    main()
