"""What the training scripts share: options, a progress bar, the loop, checkpoint and resume."""

from __future__ import annotations

import argparse
import os
import sys
import time

import lazyloom_torch as torch


def options(description: str, **defaults):
    """A parser with the options that every script has; the defaults are keyword arguments."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--epochs", type=int, default=defaults.get("epochs", 5))
    add("--batch-size", type=int, default=defaults.get("batch_size", 32))
    add("--lr", type=float, default=defaults.get("lr", 1e-3), help="learning rate")
    add("--seed", type=int, default=0)
    add("--limit", type=int, help="at most this many steps an epoch")
    add("--checkpoint", metavar="FILE", help="written after every epoch")
    add("--resume", action="store_true",
        help="go on from the checkpoint, if it is there, with the schedule it was begun with")
    add("--quiet", action="store_true", help="no progress bar")
    return parser


class Progress:
    """A bar on standard error; lines where that is no terminal."""

    WIDTH = 24

    def __init__(self, total: int, label: str, quiet: bool = False) -> None:
        self.total, self.label, self.quiet = total, label, quiet
        self.done, self.start = 0, time.perf_counter()
        self.live = sys.stderr.isatty()

    def step(self, **shown: float) -> None:
        """One step is done; the numbers stand behind the bar."""
        self.done += 1
        last = self.done == self.total
        if self.quiet or not (self.live or last or self.done % max(self.total // 5, 1) == 0):
            return
        spent = time.perf_counter() - self.start
        left = spent / self.done * (self.total - self.done)
        filled = self.WIDTH * self.done // self.total
        numbers = "  ".join(
            f"{name} {value:.{4 if value < 100 else 0}f}" for name, value in shown.items())
        line = (f"{self.label} [{'#' * filled}{'.' * (self.WIDTH - filled)}] "
                f"{self.done}/{self.total}  {numbers}  {spent:.0f}s + {left:.0f}s")
        end = "\n" if last or not self.live else ""
        print(("\r" if self.live else "") + line, end=end, file=sys.stderr, flush=True)


def save_checkpoint(path, epoch, model, optimizer, scheduler=None) -> None:
    """Everything that training goes on from, after that many epochs."""
    torch.save({
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict() if scheduler is not None else None,
    }, path)


def load_checkpoint(path, model, optimizer=None, scheduler=None) -> int:
    """Restore what :func:`save_checkpoint` wrote; the number of epochs that are done."""
    found = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(found["model"])
    if optimizer is not None:
        optimizer.load_state_dict(found["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(found["scheduler"])
    return found["epoch"]


def fit(model, optimizer, loader, loss_of, args, scheduler=None, clip=None) -> list[float]:
    """Train for ``args.epochs`` epochs; the loss of every step.

    ``loss_of(model, batch)`` is the loss to be minimised. ``clip`` limits the norm of the
    gradient. The scheduler is stepped with the optimizer.
    """
    first = 0
    if args.resume and args.checkpoint and os.path.exists(args.checkpoint):
        first = load_checkpoint(args.checkpoint, model, optimizer, scheduler)
        print(f"resumed after epoch {first}", file=sys.stderr)
    steps = len(loader) if args.limit is None else min(args.limit, len(loader))
    losses = []
    for epoch in range(first, args.epochs):
        # the order and the dropout of an epoch do not depend on where training was resumed
        torch.manual_seed(args.seed + 1000 * (epoch + 1))
        model.train()
        bar = Progress(steps, f"epoch {epoch + 1}/{args.epochs}", args.quiet)
        for number, batch in enumerate(loader, 1):
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            losses.append(loss.item())
            bar.step(loss=losses[-1])
            if number == steps:
                break
        if args.checkpoint:
            save_checkpoint(args.checkpoint, epoch + 1, model, optimizer, scheduler)
    return losses


def warmup_cosine(optimizer, warmup: int, total: int):
    """A learning rate that rises linearly, then falls along a cosine to a tenth."""
    schedulers = [
        torch.optim.lr_scheduler.LinearLR(optimizer, 1.0 / max(warmup, 1), 1.0, max(warmup, 1)),
        torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, max(total - warmup, 1), eta_min=0.1 * optimizer.param_groups[0]["lr"]),
    ]
    return torch.optim.lr_scheduler.SequentialLR(optimizer, schedulers, [max(warmup, 1)])
