"""The digits classifier, trained by several processes, each on its part of every batch.

    python -m lazyloom_torch run -n 2 distributed_digits.py [DATA_FOLDER]

It is a program for PyTorch, and runs there unchanged:

    torchrun --nproc-per-node 2 distributed_digits.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import digits_data as data
import numpy
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

EPOCHS = 10
#: images of all processes together in a step
BATCH = 64


def tensors(folder: Path, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = data.load(folder, part)
    return torch.tensor(images), torch.tensor(numpy.asarray(labels, numpy.int64))


def main() -> None:
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else data.DEFAULT_FOLDER
    images, labels = tensors(folder, "train")

    torch.manual_seed(rank)  # parameters are those of rank 0, whatever the others begin with
    layers = nn.Sequential(
        nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sampler = DistributedSampler(images, drop_last=True)
    each = BATCH // size

    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        own = torch.tensor(list(sampler))
        for start in range(0, len(own) - each + 1, each):
            chosen = own[start : start + each]
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch + 1:2}  loss of the last batch of rank 0 {loss.item():.4f}")

    # each process tests its part, and the counts are added
    images, labels = tensors(folder, "test")
    with torch.no_grad():
        right = (layers(images[rank::size]).argmax(1) == labels[rank::size]).sum()
    dist.all_reduce(right)
    if rank == 0:
        print(f"accuracy {right.item() / len(labels):.4f} with {size} processes")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
