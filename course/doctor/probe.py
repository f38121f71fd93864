"""A script that `course doctor` runs. It imports torch and prints a report as JSON."""

import importlib
import json
import sys
import warnings


def main() -> None:
    """Print a report on torch, then one that also covers the dataset."""
    # Do not import from the folder of this file.
    del sys.path[0]
    torch = importlib.import_module("torch")
    cuda, devices = torch.cuda, []
    report = {"torch": torch.__version__, "cuda": torch.version.cuda, "devices": devices}
    report["threads"] = torch.get_num_threads()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if cuda.is_available():
            indices = range(cuda.device_count())
            devices += [f"cuda:{n} {cuda.get_device_name(n)}" for n in indices]
            report["capabilities"] = [cuda.get_device_capability(n) for n in indices]
            report["architectures"] = cuda.get_arch_list()
        elif torch.backends.mps.is_available():
            devices.append("mps")
    if caught:
        report["cuda_error"] = str(caught[-1].message).splitlines()[0]
    # Printed now, because loading the dataset may crash the process.
    print(json.dumps(report), flush=True)
    cifar10 = importlib.import_module("helpers.cifar10")
    try:
        # Without mirrors, nothing is downloaded.
        report["data"] = cifar10.load("cifar10", mirrors=()).provenance
    except cifar10.DataError as error:
        report["data_error"] = str(error)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
