r"""Train the classic CIFAR-10 network on the CPU, on one GPU, or on several GPUs with torchrun.

    python train_cifar10.py --batch-size 512 --lr 0.1 --schedule cosine --precision bf16
    torchrun --nproc-per-node 4 train_cifar10.py --batch-size 32 --lr 0.032
    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 \
        torchrun --nproc-per-node 4 --max-restarts 3 train_cifar10.py --resume-if-present

The file needs torch and torchvision only, so copy it where you like. The defaults are the classic
settings: 2 epochs, batches of 4, SGD with learning rate 0.001 and momentum 0.9. SIGTERM, which
clusters send before they end a job, stops it after a step and writes a checkpoint. Without the
variable, a restarted process may connect to a dead one (github.com/pytorch/pytorch/issues/135712).
"""

import argparse
import math
import os
import signal
import sys
import time
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn, optim
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset
from torch.utils.flop_counter import FlopCounterMode
from torchvision import datasets, transforms

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"
)  # fmt: skip


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
        return self.fc3(F.relu(self.fc2(x)))


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line; exit with a message if one is invalid."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    add = parser.add_argument
    add("--data", default="data", help="folder of torchvision's CIFAR-10, downloaded if missing "
        "(default data); course: the course's copy; fake: noise, to try the program")  # fmt: skip
    add("--images", type=positive, help="train on this many images only, for a quick try")
    add("--epochs", type=positive, default=2, help="passes over the training images (default 2)")
    add("--batch-size", type=positive, default=4, help="images per process and batch (default 4)")
    add("--accumulate", type=positive, default=1, help="batches per optimizer step (default 1)")
    add("--lr", type=float, default=0.001, help="learning rate (default 0.001)")
    add("--momentum", type=float, default=0.9, help="momentum of SGD (default 0.9)")
    add("--weight-decay", type=float, default=0, help="of weights, not of biases (default 0)")
    add("--clip", type=float, default=0, help="largest norm of the gradients (default 0: any)")
    add("--schedule", choices=("constant", "cosine"), default="constant", help="learning rate")
    add("--warmup", type=int, default=0, help="steps over which the learning rate rises to --lr")
    add("--precision", choices=("fp32", "tf32", *AUTOCAST), default="fp32")
    add("--channels-last", action="store_true", help="memory format of images and weights")
    add("--compile", action="store_true", help="use torch.compile, which takes about a minute")
    add("--peak-tflops", type=float, default=0, help="of one GPU's data sheet, to print the MFU")
    add("--workers", type=int, default=2, help="processes that load images (default 2)")
    add("--device", default="auto", help="auto (default), cpu, cuda:0, ...; torchrun chooses it")
    add("--seed", type=int, default=0, help="seed of weights and image order (default 0)")
    add("--output", type=Path, default=Path("output"), help="folder for the checkpoint")
    add("--resume", action="store_true", help="continue from the checkpoint in the output folder")
    add("--resume-if-present", action="store_true", help="the same, if there is one; for restarts")
    parsed = parser.parse_args(arguments)
    for name in ("lr", "momentum", "weight_decay", "clip", "warmup", "workers", "peak_tflops"):
        if not 0 <= getattr(parsed, name) < math.inf:
            parser.error(f"--{name.replace('_', '-')} must be 0 or more, not {vars(parsed)[name]}")
    return parsed


def positive(text: str) -> int:
    """Return `text` as an integer of at least 1, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return int(text)


def set_up_device(args: argparse.Namespace) -> torch.device:
    """Return this process's device, and join the other processes if torchrun started it."""
    found = torch.accelerator.current_accelerator(check_available=True)
    device = torch.device((found or "cpu") if args.device == "auto" else args.device)
    if "RANK" in os.environ and device.type == "cuda":
        local_rank = int(os.environ["LOCAL_RANK"])
        if local_rank >= torch.cuda.device_count():
            raise ValueError(
                f"torchrun started more processes than the {torch.cuda.device_count()} GPUs of "
                "this machine. Lower --nproc-per-node, or pass --device cpu."
            )
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)  # connects now; errors name the GPU
    elif "RANK" in os.environ:
        dist.init_process_group("gloo")
    if args.device == "auto" and not found:
        say("no GPU was found: training on the CPU")
    if device.type == "cuda":
        if args.precision == "bf16" and torch.cuda.get_device_capability(device) < (8, 0):
            raise ValueError("this GPU has no bf16 arithmetic (a T4 has none): use fp16 or fp32.")
        torch.set_float32_matmul_precision("highest" if args.precision == "fp32" else "high")
        torch.backends.cudnn.allow_tf32 = args.precision != "fp32"  # True by default
    elif device.type == "cpu" and args.batch_size <= 16:
        torch.set_num_threads(1)  # too little work to share: threads would wait for each other
    return device


def rank_and_world() -> tuple[int, int]:
    """Return this process's number and the number of processes; (0, 1) without torchrun."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


class Control:
    """Messages between the processes' CPUs, which never wait for a GPU."""

    def __init__(self) -> None:
        self.group, self.terminated = None, False
        if dist.is_initialized():  # a download may take longer than NCCL's limit of 10 minutes
            self.group = dist.new_group(backend="gloo", timeout=timedelta(hours=2))

    def should_stop(self, step: int) -> bool:
        """Return whether any process got SIGTERM: the same in all, True in every 10th step only."""
        if self.group and step % 10:
            return False
        flag = torch.tensor(int(self.terminated))
        if self.group:
            dist.all_reduce(flag, dist.ReduceOp.MAX, group=self.group)
        return bool(flag)

    def wait(self) -> None:
        """Return when every process has called this."""
        if self.group:
            dist.barrier(self.group)

    def from_first(self, value: object) -> object:
        """Return the `value` of process 0."""
        values = [value]
        if self.group:
            dist.broadcast_object_list(values, src=0, group=self.group)
        return values[0]


def read_images(data: str) -> list[Dataset]:
    """Return the training and the test set."""
    transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    if data == "fake":
        return [datasets.FakeData(n, (3, 32, 32), 10, transform) for n in (1000, 200)]
    if data == "course":
        from helpers import cifar10, torchvision_cifar10  # with a cache and several mirrors

        wrap, found = torchvision_cifar10.InMemoryCIFAR10, cifar10.load("cifar10")
        return [wrap(*found.train, transform), wrap(*found.test, transform)]
    return [datasets.CIFAR10(data, train, transform, download=True) for train in (True, False)]


def load_data(args: argparse.Namespace, control: Control) -> tuple[Dataset, Dataset]:
    """Return the training set and this process's share of the test set."""
    rank, world = rank_and_world()
    # Process 0 downloads first, because machines may share a folder; then one process of each
    # other machine; then the others, which find the files.
    leads = os.environ.get("LOCAL_RANK", "0") == "0"
    for turn in (rank == 0, leads and rank > 0, not leads):
        if turn:
            train_set, test_set = read_images(args.data)
        control.wait()
    if args.images and args.images < len(train_set):
        order = torch.randperm(len(train_set), generator=torch.Generator().manual_seed(args.seed))
        train_set = Subset(train_set, order[: args.images].tolist())
    return train_set, Subset(test_set, range(rank, len(test_set), world))


def say(text: str) -> None:
    """Print `text`, once for all processes."""
    if rank_and_world()[0] == 0:
        print(text, flush=True)


def ignore_sigterm(worker: int) -> None:
    """Let a loading process survive a signal to the whole job, as long as its parent does."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Training:
    """Network, optimizer, data and position of one run; what a checkpoint stores."""

    def __init__(
        self, args: argparse.Namespace, train_set: Dataset, device: torch.device, control: Control
    ) -> None:
        self.args, self.device, self.control = args, device, control
        rank, world = rank_and_world()
        with torch.device("meta"), FlopCounterMode(display=False) as counter:
            Net()(torch.empty(1, 3, 32, 32))
        self.flops_per_image = 3 * counter.get_total_flops()  # backward: twice the forward pass
        torch.manual_seed(args.seed)
        self.layout = torch.channels_last if args.channels_last else torch.contiguous_format
        self.net = Net().to(device, memory_format=self.layout)
        parts = [[], []]  # biases, weights
        for parameter in self.net.parameters():
            parts[parameter.dim() > 1].append(parameter)
        groups = [{"params": parts[0]}, {"params": parts[1], "weight_decay": args.weight_decay}]
        self.optimizer = optim.SGD(groups, lr=args.lr, momentum=args.momentum)
        self.scaler = torch.amp.GradScaler(device.type, enabled=args.precision == "fp16")
        # 2 processes with batches of B see the images that 1 sees with 2B.
        self.sampler = DistributedSampler(train_set, world, rank, seed=args.seed)
        self.loader = DataLoader(
            train_set,
            batch_size=args.batch_size,
            sampler=self.sampler,
            num_workers=args.workers,
            pin_memory=device.type == "cuda",
            persistent_workers=args.workers > 0,  # the next epoch uses the same processes
            worker_init_fn=ignore_sigterm,
        )
        self.path, self.epoch, self.batch, self.step = args.output / "train_cifar10.pt", 0, 0, 0
        unstored = {"output", "resume", "resume_if_present", "device", "workers", "peak_tflops"}
        if args.schedule == "constant":
            unstored.add("epochs")  # so that a finished run can be made longer
        self.settings = {k: v for k, v in vars(args).items() if k not in unstored}
        self.settings["processes"] = world
        self.resume()
        # DDP sends the weights of process 0 to the others; a view saves a copy of the gradients.
        self.ddp = DDP(self.net, gradient_as_bucket_view=True) if world > 1 else self.net
        self.parallel = torch.compile(self.ddp) if args.compile else self.ddp

    def learning_rate(self) -> float:
        """Return the rate of the current step: linear warmup, then constant or a half cosine."""
        if self.step < self.args.warmup:
            return self.args.lr * (self.step + 1) / self.args.warmup
        if self.args.schedule == "constant":
            return self.args.lr
        total = self.args.epochs * math.ceil(len(self.loader) / self.args.accumulate)
        done = (self.step - self.args.warmup) / max(1, total - self.args.warmup)
        return self.args.lr * 0.5 * (1 + math.cos(math.pi * done))

    def train_epoch(self) -> None:
        """Train on every image once, and print the loss after a second and then every ten."""
        self.sampler.set_epoch(self.epoch)  # another order in each epoch
        rank, world = rank_and_world()
        # Each process and epoch has random numbers of its own, also in a run that is resumed.
        torch.manual_seed((self.args.seed << 32) + self.epoch * world + rank)
        accumulate, batches = self.args.accumulate, len(self.loader)
        dtype = AUTOCAST.get(self.args.precision)  # None: no autocast
        loss_sum, counted, images_seen = torch.zeros((), device=self.device), 0, 0
        started = time.perf_counter()
        next_report = started + 1
        for batch, (images, labels) in enumerate(self.loader, start=1):
            if batch <= self.batch:
                continue  # before the checkpoint
            images = images.to(self.device, non_blocking=True, memory_format=self.layout)
            labels = labels.to(self.device, non_blocking=True)
            group = min(accumulate, batches - (batch - 1) // accumulate * accumulate)
            update = batch % accumulate == 0 or batch == batches
            # Gradients are averaged over the processes in the last batch of a group only.
            with nullcontext() if update or self.ddp is self.net else self.ddp.no_sync():
                with torch.autocast(self.device.type, dtype, enabled=dtype is not None):
                    loss = F.cross_entropy(self.parallel(images), labels)
                self.scaler.scale(loss / group).backward()
            if update:
                for parameters in self.optimizer.param_groups:
                    parameters["lr"] = self.learning_rate()
                if self.args.clip:
                    self.scaler.unscale_(self.optimizer)
                    nn.utils.clip_grad_norm_(self.net.parameters(), self.args.clip)
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()
                self.step += 1  # also if the scaler skipped the update
            loss_sum += loss.detach()  # on the device: .item() here would wait for it each time
            counted, images_seen = counted + 1, images_seen + len(labels)
            now = time.perf_counter()
            if now > next_report or batch == batches:
                self.report(batch, loss_sum.item() / counted, images_seen / (now - started))
                next_report, counted, loss_sum = now + 10, 0, torch.zeros_like(loss_sum)
            if update and self.control.should_stop(self.step):
                self.batch = batch
                self.save()
                say(f"SIGTERM: stopped after {self.step} steps; --resume continues")
                sys.exit(128 + signal.SIGTERM)
        self.epoch, self.batch = self.epoch + 1, 0

    def report(self, batch: int, loss: float, images_per_second: float) -> None:
        """Print one line of progress; raise FloatingPointError if training has diverged."""
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss is {loss} after {self.step} steps: training diverged. "
                f"Choose a learning rate below {self.args.lr:g}."
            )
        tflops = images_per_second * self.flops_per_image / 1e12  # of this process
        mfu = f" (MFU {tflops / self.args.peak_tflops:.1%})" if self.args.peak_tflops else ""
        peak = torch.cuda.max_memory_allocated() >> 20 if self.device.type == "cuda" else 0
        say(
            f"epoch {self.epoch + 1} of {self.args.epochs}, batch {batch:,} of "
            f"{len(self.loader):,}: loss {loss:.3f}, {images_per_second * rank_and_world()[1]:,.0f}"
            f" images/s, {tflops:.3f} TFLOP/s each{mfu}" + (f", peak {peak:,} MiB" if peak else "")
        )

    def save(self) -> None:
        """Write the checkpoint from process 0; a crash while writing leaves the old one."""
        if rank_and_world()[0] == 0:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            state = {name: getattr(self, name) for name in ("settings", "epoch", "batch", "step")}
            for name in ("net", "optimizer", "scaler"):
                state[name] = getattr(self, name).state_dict()
            torch.save(state, self.path.with_suffix(".part"))
            self.path.with_suffix(".part").replace(self.path)
        self.control.wait()  # nobody goes on, or exits, before the file is complete

    def resume(self) -> None:
        """Continue from the checkpoint of process 0, if asked to; ValueError if it differs."""
        wanted = self.args.resume or (self.args.resume_if_present and self.path.exists())
        state = None
        if rank_and_world()[0] == 0 and wanted:
            if not self.path.exists():
                raise ValueError(f"--resume: there is no checkpoint {self.path}. Train without it.")
            state = torch.load(self.path, map_location="cpu", weights_only=True)
        state = self.control.from_first(state)  # one process decides, so all start at one step
        if state is None:
            return
        for name, value in self.settings.items():
            if (before := state["settings"].get(name)) != value:
                raise ValueError(
                    f"--resume: {self.path} was trained with {name} {before}, not {value}. "
                    "Use the same settings, or another --output."
                )
        for name in ("net", "optimizer", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.batch, self.step = state["epoch"], state["batch"], state["step"]
        say(f"resumed after {self.step} steps")


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
    control = Control()
    train_set, test_set = load_data(args, control)
    training = Training(args, train_set, device, control)
    say(f"training on {rank_and_world()[1]} x {device.type} in {args.precision}")
    started = time.perf_counter()
    signal.signal(signal.SIGTERM, lambda *_: setattr(control, "terminated", True))
    while training.epoch < args.epochs:
        training.train_epoch()
        training.save()
    say(f"trained in {time.perf_counter() - started:.1f} s; checkpoint: {training.path}")
    counts = evaluate(training.net, test_set, device)
    accuracy = counts.diagonal().sum().item() / counts.sum().item()
    say(f"accuracy on {counts.sum():,} test images: {accuracy:.2%}")
    for name, row, correct in zip(CLASSES, counts.sum(1), counts.diagonal(), strict=True):
        say(f"{name:>12s}: {correct / row:.1%}")
    return accuracy


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, FloatingPointError) as error:
        sys.exit(f"train_cifar10.py: error: {error}")
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
