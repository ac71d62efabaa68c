"""A U-Net (Ronneberger, Fischer and Brox, "U-Net: Convolutional networks for biomedical image
segmentation", 2015), which marks the pixels of handwritten digits in a noisy picture.

Each picture has several digits, scattered, half of them dimmed; which of ten digits a pixel
belongs to, or to none, is to be said.

    python unet.py --epochs 4 --checkpoint unet.pt
"""

from __future__ import annotations

import data
import training

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class DoubleConv(nn.Module):
    """Two convolutions of 3 by 3 that keep the size."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    """Half the size."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(inputs, outputs))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    """Twice the size, joined with what was there on the way down."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, inputs // 2, 2, stride=2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x, across):
        x = self.up(x)
        height, width = across.shape[2] - x.shape[2], across.shape[3] - x.shape[3]
        x = F.pad(x, (width // 2, width - width // 2, height // 2, height - height // 2))
        return self.conv(torch.cat([across, x], dim=1))


class OutConv(nn.Module):
    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, classes, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    """Pictures [n, channels, h, w] to logits [n, classes, h, w]."""

    def __init__(self, channels: int, classes: int, width: int = 64) -> None:
        super().__init__()
        self.inc = DoubleConv(channels, width)
        self.down1 = Down(width, 2 * width)
        self.down2 = Down(2 * width, 4 * width)
        self.down3 = Down(4 * width, 8 * width)
        self.up1 = Up(8 * width, 4 * width)
        self.up2 = Up(4 * width, 2 * width)
        self.up3 = Up(2 * width, width)
        self.outc = OutConv(width, classes)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(x4, x3)
        x = self.up2(x, x2)
        return self.outc(self.up3(x, x1))


class Scenes(torch.utils.data.Dataset):
    """Pictures with digits in them, float32 [1, size, size], and classes, int64 [size, size].

    Class 10 is the background. The same index gives the same picture.
    """

    BACKGROUND = 10

    def __init__(self, part: str, count: int, size: int = 32, digits: int = 4) -> None:
        images, labels = data.digits(part)
        self.images, self.labels = images[:, 0].numpy(), labels.tolist()
        self.count, self.size, self.digits = count, size, digits

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int):
        import numpy

        random = numpy.random.default_rng(index)
        picture = 0.2 * random.random((self.size, self.size), numpy.float32)
        classes = numpy.full((self.size, self.size), self.BACKGROUND)
        for _ in range(self.digits):
            chosen = int(random.integers(len(self.labels)))
            y, x = random.integers(0, self.size - 8, 2)
            bright = random.choice([0.6, 1.0])
            ink = self.images[chosen]
            place = (slice(y, y + 8), slice(x, x + 8))
            picture[place] = numpy.maximum(picture[place], bright * ink)
            classes[place][ink > 0.3] = self.labels[chosen]
        return torch.from_numpy(picture[None]), torch.from_numpy(classes)


def loss_of(model, batch):
    pictures, classes = batch
    logits = model(pictures)
    return F.cross_entropy(logits, classes) + dice_loss(logits, classes)


def dice_loss(logits, classes, eps: float = 1.0):
    """One less the mean overlap of what was said and what is so, by class."""
    said = F.softmax(logits, dim=1)
    so = F.one_hot(classes, logits.shape[1]).permute(0, 3, 1, 2).to(said.dtype)
    overlap = (said * so).sum(dim=(0, 2, 3))
    sizes = said.sum(dim=(0, 2, 3)) + so.sum(dim=(0, 2, 3))
    return 1.0 - ((2.0 * overlap + eps) / (sizes + eps)).mean()


@torch.no_grad()
def marked_rightly(model, loader) -> float:
    """The share of the digits' pixels whose class is said rightly."""
    model.eval()
    right = total = 0
    for pictures, classes in loader:
        ink = classes != Scenes.BACKGROUND
        right += ((model(pictures).argmax(dim=1) == classes) & ink).sum().item()
        total += ink.sum().item()
    return right / total


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=4, batch_size=16, lr=2e-3)
    parser.add_argument("--width", type=int, default=16, help="channels of the first level")
    parser.add_argument("--pictures", type=int, default=1600, help="an epoch")
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)
    model = UNet(1, 11, args.width)
    loader = torch.utils.data.DataLoader(
        Scenes("train", args.pictures), args.batch_size, shuffle=True, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, args.lr, total_steps=args.epochs * len(loader))
    losses = training.fit(model, optimizer, loader, loss_of, args, scheduler)
    if not args.quiet:
        shown = torch.utils.data.DataLoader(Scenes("test", 160), args.batch_size)
        print(f"pixels of digits marked rightly {marked_rightly(model, shown):.4f}")
    return losses


if __name__ == "__main__":
    main()
