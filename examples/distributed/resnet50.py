"""ResNet-50 on several devices or processes: every one has a part of each batch.

    python -m lazyloom_torch resnet50.py --devices 8          one process, a mesh of eight devices
    python -m lazyloom_torch run -n 4 resnet50.py             four processes
    torchrun --nproc-per-node 4 resnet50.py                   the same program under PyTorch

The images are made up (``--data made-up``), enlarged digits, or CIFAR's from a folder. On a mesh,
batch norms take the statistics of the whole batch; in processes, as DistributedDataParallel has it,
those of the process's part.
"""

from __future__ import annotations

import images
import torch
import torch.nn.functional as F
import trainer
from torch import nn


def main() -> None:
    parser = trainer.options(__doc__.split("\n")[0], steps=1000, batch=64, lr=0.05)
    add = parser.add_argument
    add("--data", default="made-up", help="made-up, digits, or a folder with CIFAR's .bin files")
    add("--count", type=int, default=50_000, help="made-up images")
    add("--size", type=int, default=64, help="height and width of images, CIFAR's aside")
    add("--classes", type=int, default=1000)
    add("--width", type=int, default=64, help="channels of the first stage")
    add("--layers", type=int, nargs=4, default=[3, 4, 6, 3], help="blocks of each stage")
    add("--sync-batchnorm", action="store_true",
        help="in processes, statistics of the whole batch")
    args = parser.parse_args()
    place = trainer.place_of(args)

    resnet = trainer.model_file("resnet")
    torch.manual_seed(args.seed)
    model = resnet.ResNet(resnet.Bottleneck, args.layers, args.classes, args.width)
    if args.sync_batchnorm:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    optimizer = torch.optim.SGD(
        model.parameters(), args.lr, momentum=0.9, weight_decay=5e-5, nesterov=True)
    found = images.of(args)

    def loss_of(model, inputs, labels):
        return F.cross_entropy(model(inputs), labels, label_smoothing=0.1)

    trainer.train(args, place, model, optimizer, len(found), found.batch, loss_of)
    place.close()


if __name__ == "__main__":
    main()
