"""ResNet-56 on images of 32 by 32, on one device, several ones or several processes.

    python -m lazyloom_torch resnet56.py --data cifar-10-batches-bin --checkpoint resnet56.pt
    python -m lazyloom_torch resnet56.py --devices 2
    python -m lazyloom_torch run -n 2 resnet56.py

Without a folder of CIFAR's binary version it trains on the digits, enlarged. At the end it prints
how many images of the test it classifies right.
"""

from __future__ import annotations

import images
import torch
import torch.nn.functional as F
import trainer


@torch.no_grad()
def accuracy(model, found, batch=256):
    """The part of images that is classified right."""
    model.eval()
    right = 0
    for start in range(0, len(found), batch):
        inputs = torch.from_numpy(found.images[start:start + batch])
        labels = torch.from_numpy(found.labels[start:start + batch])
        right += (model(inputs).argmax(dim=1) == labels).sum().item()
    return right / len(found)


def main() -> None:
    parser = trainer.options(__doc__.split("\n")[0], steps=500, batch=128, lr=0.1)
    add = parser.add_argument
    add("--data", default="digits", help="digits, or a folder with CIFAR's .bin files")
    add("--classes", type=int, default=10)
    add("--width", type=int, default=16, help="channels of the first stage")
    add("--layers", type=int, default=56, help="6 n + 2")
    args = parser.parse_args()
    args.size = images.SIDE
    if args.layers < 8 or args.layers % 6 != 2:
        raise SystemExit(f"--layers {args.layers}: expected 6 n + 2, such as 20, 56 or 110")
    place = trainer.place_of(args)

    torch.manual_seed(args.seed)
    model = trainer.model_file("resnet").CifarResNet(args.layers // 6, args.classes, args.width)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    found = images.of(args)

    def loss_of(model, inputs, labels):
        return F.cross_entropy(model(inputs), labels)

    trainer.train(args, place, model, optimizer, len(found), found.batch, loss_of)
    if place.rank == 0 and not args.quiet:
        print(f"accuracy {accuracy(model, images.of(args, 'test')):.4f}")
    place.close()


if __name__ == "__main__":
    main()
