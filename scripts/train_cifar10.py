"""Train the classic CIFAR-10 network on the CPU, on one GPU, or on several GPUs with torchrun.

    python scripts/train_cifar10.py
    python scripts/train_cifar10.py --batch-size 512 --lr 0.1 --schedule cosine --precision bf16
    torchrun --nproc-per-node 4 scripts/train_cifar10.py --batch-size 32 --lr 0.032
    torchrun --nproc-per-node 4 --max-restarts 3 scripts/train_cifar10.py --resume-if-present

The defaults are the classic settings: 2 epochs, batches of 4, SGD with learning rate 0.001 and
momentum 0.9. The images are those of CIFAR10_ROOT, of the course's cache, or a download.
"""

import argparse
import math
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn, optim
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset
from torchvision import transforms

from helpers import cifar10
from helpers.devices import choose_device
from helpers.torchvision_cifar10 import InMemoryCIFAR10

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Net(nn.Module):
    """Two convolutions with pooling, then three linear layers: 62,006 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Map float images `(N, 3, 32, 32)` to logits `(N, 10)`."""
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line; exit with a message if one is invalid."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", default="cifar10", help="cifar10 (default), synthetic, or the path of a copy")
    add("--images", type=positive, help="train on this many images only, for a quick try")
    add("--epochs", type=positive, default=2, help="passes over the training images (default 2)")
    add("--batch-size", type=positive, default=4, help="images per process and batch (default 4)")
    add("--accumulate", type=positive, default=1, help="batches per optimizer step (default 1)")
    add("--lr", type=float, default=0.001, help="learning rate (default 0.001)")
    add("--momentum", type=float, default=0.9, help="momentum of SGD (default 0.9)")
    add("--schedule", choices=("constant", "cosine"), default="constant", help="learning rate")
    add("--warmup", type=int, default=0, help="steps over which the learning rate rises to --lr")
    add("--precision", choices=PRECISIONS, default="fp32", help="of products and convolutions")
    add("--workers", type=int, default=2, help="processes that load images (default 2)")
    add("--device", default="auto", help="auto (default), cpu, cuda:0, ...; torchrun chooses it")
    add("--seed", type=int, default=0, help="seed of weights and image order (default 0)")
    add("--output", type=Path, default=Path("output"), help="folder for the checkpoint")
    add("--resume", action="store_true", help="continue from the checkpoint in the output folder")
    add("--resume-if-present", action="store_true", help="the same, if there is one; for restarts")
    parsed = parser.parse_args(arguments)
    for name in ("lr", "momentum", "warmup", "workers"):
        if not 0 <= getattr(parsed, name) < math.inf:
            parser.error(f"--{name} must be 0 or more, not {getattr(parsed, name)}")
    return parsed


def positive(text: str) -> int:
    """Return `text` as an integer of at least 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return int(text)


def set_up_device(args: argparse.Namespace) -> torch.device:
    """Return this process's device, and join the other processes if torchrun started it."""
    if "RANK" not in os.environ:
        device = choose_device(args.device)
    elif args.device == "cpu" or not torch.cuda.is_available():
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    else:
        local_rank = int(os.environ["LOCAL_RANK"])
        if local_rank >= torch.cuda.device_count():
            raise ValueError(
                f"torchrun started more processes than the {torch.cuda.device_count()} GPUs of "
                "this machine. Lower --nproc-per-node, or pass --device cpu."
            )
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl")
    if (
        args.precision == "bf16"
        and device.type == "cuda"
        and not torch.cuda.is_bf16_supported(including_emulation=False)
    ):
        raise ValueError("this GPU has no bf16 arithmetic (a T4 has none): use fp16 or fp32.")
    if device.type == "cpu" and args.batch_size <= 16:
        torch.set_num_threads(1)  # too little work to share: threads would wait for each other
    return device


def rank_and_world() -> tuple[int, int]:
    """Return this process's number and the number of processes; (0, 1) without torchrun."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def load_data(args: argparse.Namespace) -> tuple[Dataset, Dataset, tuple[str, ...]]:
    """Return the training set, this process's share of the test set, and the class names."""
    transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    rank, world = rank_and_world()
    if dist.is_initialized() and int(os.environ["LOCAL_RANK"]) > 0:
        dist.barrier()  # one process of each machine downloads; the others then read the cache
    data = cifar10.load(args.data)
    if dist.is_initialized() and int(os.environ["LOCAL_RANK"]) == 0:
        dist.barrier()
    say(f"{data.name}: {data.provenance}")
    train_set = InMemoryCIFAR10(*data.train, transform)
    if args.images and args.images < len(train_set):
        # A random choice, because a copy of CIFAR-10 may be sorted by class.
        order = torch.randperm(len(train_set), generator=torch.Generator().manual_seed(args.seed))
        train_set = Subset(train_set, order[: args.images].tolist())
    test_set = InMemoryCIFAR10(*data.test, transform)
    return train_set, Subset(test_set, range(rank, len(test_set), world)), data.classes


def say(text: str) -> None:
    """Print `text`, once for all processes."""
    if rank_and_world()[0] == 0:
        print(text, flush=True)


class Training:
    """Network, optimizer, data and position of one run; what a checkpoint stores."""

    def __init__(self, args: argparse.Namespace, train_set: Dataset, device: torch.device) -> None:
        self.args, self.device = args, device
        world = rank_and_world()[1]
        torch.manual_seed(args.seed)
        self.net: nn.Module = Net().to(device)
        self.optimizer = optim.SGD(self.net.parameters(), lr=args.lr, momentum=args.momentum)
        self.scaler = torch.amp.GradScaler(device.type, enabled=args.precision == "fp16")
        # Under torchrun, 2 processes with batches of B see what 1 sees with 2B. Plain python draws
        # another order, from the generator that the checkpoint stores.
        parallel = dist.is_initialized()
        self.sampler = DistributedSampler(train_set, seed=args.seed) if parallel else None
        self.loader = DataLoader(
            train_set,
            batch_size=args.batch_size,
            shuffle=self.sampler is None,
            sampler=self.sampler,
            num_workers=args.workers,
            pin_memory=device.type == "cuda",
        )
        self.steps_per_epoch = math.ceil(len(self.loader) / args.accumulate)
        self.path = args.output / "train_cifar10.pt"
        self.epoch = self.step = 0
        unstored = {"output", "resume", "resume_if_present", "device", "workers"}
        if args.schedule == "constant":
            unstored.add("epochs")  # so that a finished run can be made longer
        self.settings = {k: v for k, v in vars(args).items() if k not in unstored}
        self.settings["processes"] = world
        if args.resume or (args.resume_if_present and self.path.exists()):
            self.resume()
        # After loading: DDP sends the weights of process 0 to the others.
        self.parallel = DistributedDataParallel(self.net) if world > 1 else self.net

    def learning_rate(self) -> float:
        """Return the rate of the current step: linear warmup, then constant or a half cosine."""
        if self.step < self.args.warmup:
            return self.args.lr * (self.step + 1) / self.args.warmup
        if self.args.schedule == "constant":
            return self.args.lr
        total = self.args.epochs * self.steps_per_epoch - self.args.warmup
        done = (self.step - self.args.warmup) / max(1, total)
        return self.args.lr * 0.5 * (1 + math.cos(math.pi * done))

    def train_epoch(self) -> None:
        """Train on every image once, and print the loss after a second and then every ten."""
        if self.sampler:
            self.sampler.set_epoch(self.epoch)  # another order in each epoch
        accumulate, batches = self.args.accumulate, len(self.loader)
        remainder = batches % accumulate
        dtype = PRECISIONS[self.args.precision]
        loss_sum, counted, images_seen = torch.zeros((), device=self.device), 0, 0
        started = time.perf_counter()
        next_report = started + 1
        for batch, (images, labels) in enumerate(self.loader, start=1):
            images = images.to(self.device, non_blocking=True)
            labels = labels.to(self.device, non_blocking=True)
            group = remainder if batch > batches - remainder else accumulate
            update = batch % accumulate == 0 or batch == batches
            # Gradients are averaged over the processes in the last batch of a group only.
            waits = not update and self.parallel is not self.net
            with self.parallel.no_sync() if waits else nullcontext():
                with torch.autocast(self.device.type, dtype, enabled=dtype != torch.float32):
                    loss = F.cross_entropy(self.parallel(images), labels)
                self.scaler.scale(loss / group).backward()
            if update:
                for parameters in self.optimizer.param_groups:
                    parameters["lr"] = self.learning_rate()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()
                self.step += 1  # also if the scaler skipped the update
            loss_sum += loss.detach()  # on the device: .item() here would wait for it each time
            counted, images_seen = counted + 1, images_seen + len(labels)
            now = time.perf_counter()
            if now > next_report or batch == batches:
                self.report(batch, loss_sum.item() / counted, images_seen / (now - started))
                next_report, counted = now + 10, 0
                loss_sum.zero_()
        self.epoch += 1

    def report(self, batch: int, loss: float, images_per_second: float) -> None:
        """Print one line of progress; raise FloatingPointError if training has diverged."""
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss is {loss} after {self.step} steps: training diverged. "
                f"Choose a learning rate below {self.args.lr:g}."
            )
        speed = images_per_second * rank_and_world()[1]
        say(
            f"epoch {self.epoch + 1} of {self.args.epochs}, batch {batch:,} of "
            f"{len(self.loader):,}: loss {loss:.3f}, {speed:,.0f} images/s"
        )

    def save(self) -> None:
        """Write the checkpoint from process 0; a crash while writing leaves the old one."""
        if rank_and_world()[0] > 0:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        state = {"settings": self.settings, "epoch": self.epoch, "step": self.step}
        for name in ("net", "optimizer", "scaler"):
            state[name] = getattr(self, name).state_dict()
        state["random"] = torch.get_rng_state()  # the order of the images is drawn from it
        torch.save(state, self.path.with_suffix(".part"))
        self.path.with_suffix(".part").replace(self.path)

    def resume(self) -> None:
        """Continue where the checkpoint was written; raise ValueError if the settings differ."""
        if not self.path.exists():
            raise ValueError(f"--resume: there is no checkpoint {self.path}. Train without it.")
        state = torch.load(self.path, map_location=self.device, weights_only=True)
        for name, value in self.settings.items():
            if state["settings"].get(name) != value:
                before = state["settings"].get(name)
                raise ValueError(
                    f"--resume: {self.path} was trained with {name} {before}, not {value}. "
                    "Use the same settings, or another --output."
                )
        for name in ("net", "optimizer", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.step = state["epoch"], state["step"]
        torch.set_rng_state(state["random"].cpu())


@torch.no_grad()
def evaluate(net: nn.Module, test_set: Dataset, device: torch.device) -> Tensor:
    """Return counts `(10, 10)` over the test images: row = true class, column = answer."""
    counts = torch.zeros(100, dtype=torch.int64, device=device)
    net.eval()
    for images, labels in DataLoader(test_set, batch_size=500):
        answers = net(images.to(device)).argmax(dim=1)
        pairs = 10 * labels.to(device) + answers
        counts.index_add_(0, pairs, torch.ones_like(pairs))
    net.train()
    if dist.is_initialized():
        dist.all_reduce(counts)  # the sum over all processes
    return counts.reshape(10, 10).cpu()


def main(arguments: list[str] | None = None) -> float:
    """Train, save, and print the accuracy overall and per class; return the overall accuracy."""
    args = parse_arguments(arguments)
    device = set_up_device(args)
    train_set, test_set, classes = load_data(args)
    training = Training(args, train_set, device)
    say(f"training on {rank_and_world()[1]} x {device.type} in {args.precision}")
    started = time.perf_counter()
    while training.epoch < args.epochs:
        training.train_epoch()
        training.save()
    say(f"trained in {time.perf_counter() - started:.1f} s; checkpoint: {training.path}")
    counts = evaluate(training.net, test_set, device)
    accuracy = counts.diagonal().sum().item() / counts.sum().item()
    say(f"accuracy on {counts.sum():,} test images: {accuracy:.2%}")
    for name, row, correct in zip(classes, counts.sum(1), counts.diagonal(), strict=True):
        say(f"{name:>12s}: {correct / row:.1%}")
    return accuracy


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, FloatingPointError, cifar10.DataError) as error:
        sys.exit(f"train_cifar10.py: error: {error}")
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
