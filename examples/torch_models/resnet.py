"""Residual networks (He and others, "Deep residual learning for image recognition", 2015).

ResNet-18, -34 and -50 with the parameter names of torchvision's checkpoints, and ResNet-56 for
images of 32 by 32. Run as a script, this trains one of them on the digits, enlarged.

    python resnet.py --arch resnet56 --epochs 6 --checkpoint resnet.pt
    python resnet.py --arch resnet56 --epochs 6 --checkpoint resnet.pt --resume   # interrupted
"""

from __future__ import annotations

import data
import training

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


def conv3x3(inputs: int, outputs: int, stride: int = 1):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


def conv1x1(inputs: int, outputs: int, stride: int = 1):
    return nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int = 1, downsample=None) -> None:
        super().__init__()
        self.conv1 = conv3x3(inputs, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int = 1, downsample=None) -> None:
        super().__init__()
        self.conv1 = conv1x1(inputs, width)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = conv1x1(width, width * self.expansion)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """Images [n, 3, h, w] to logits [n, num_classes]."""

    def __init__(self, block, layers: list[int], num_classes: int = 1000, width: int = 64) -> None:
        super().__init__()
        self.inputs = width
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(block, width, layers[0])
        self.layer2 = self._stage(block, 2 * width, layers[1], stride=2)
        self.layer3 = self._stage(block, 4 * width, layers[2], stride=2)
        self.layer4 = self._stage(block, 8 * width, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _stage(self, block, width: int, blocks: int, stride: int = 1):
        outputs = width * block.expansion
        downsample = None
        if stride != 1 or self.inputs != outputs:
            downsample = nn.Sequential(
                conv1x1(self.inputs, outputs, stride), nn.BatchNorm2d(outputs))
        layers = [block(self.inputs, width, stride, downsample)]
        self.inputs = outputs
        layers += [block(outputs, width) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CifarBlock(nn.Module):
    """A block whose shortcut has no parameters: every second pixel, new channels zero."""

    def __init__(self, inputs: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = conv3x3(inputs, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.stride, self.more = stride, width - inputs

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.stride != 1 or self.more:
            x = F.pad(x[:, :, ::self.stride, ::self.stride],
                      (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return F.relu(out + x)


class CifarResNet(nn.Module):
    """Images [n, 3, 32, 32] to logits [n, num_classes]; 6 * blocks + 2 layers."""

    def __init__(self, blocks: int, num_classes: int = 10, width: int = 16) -> None:
        super().__init__()
        self.conv1 = conv3x3(3, width)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._stage(width, width, blocks, 1)
        self.layer2 = self._stage(width, 2 * width, blocks, 2)
        self.layer3 = self._stage(2 * width, 4 * width, blocks, 2)
        self.linear = nn.Linear(4 * width, num_classes)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight)

    @staticmethod
    def _stage(inputs: int, width: int, blocks: int, stride: int):
        return nn.Sequential(CifarBlock(inputs, width, stride),
                             *[CifarBlock(width, width) for _ in range(1, blocks)])

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean(dim=(2, 3)))


def resnet18(num_classes: int = 1000):
    return ResNet(BasicBlock, [2, 2, 2, 2], num_classes)


def resnet34(num_classes: int = 1000):
    return ResNet(BasicBlock, [3, 4, 6, 3], num_classes)


def resnet50(num_classes: int = 1000):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes)


def resnet20(num_classes: int = 10):
    return CifarResNet(3, num_classes)


def resnet56(num_classes: int = 10):
    return CifarResNet(9, num_classes)


ARCHITECTURES = {f.__name__: f for f in (resnet18, resnet34, resnet50, resnet20, resnet56)}


def images(part: str, size: int = 32):
    """The digits as colour images of size by size, and their labels."""
    small, labels = data.digits(part)
    large = F.interpolate(small, size=(size, size), mode="bilinear", align_corners=False)
    return (large.expand(-1, 3, -1, -1) - 0.3) / 0.35, labels


def loss_of(model, batch):
    inputs, labels = batch
    return F.cross_entropy(model(inputs), labels, label_smoothing=0.1)


@torch.no_grad()
def accuracy(model, inputs, labels, batch: int = 60) -> float:
    model.eval()
    right = 0
    for start in range(0, len(inputs), batch):
        guesses = model(inputs[start:start + batch]).argmax(dim=1)
        right += (guesses == labels[start:start + batch]).sum().item()
    return right / len(inputs)


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=3, batch_size=64, lr=0.05)
    parser.add_argument("--arch", choices=ARCHITECTURES, default="resnet56")
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)
    model = ARCHITECTURES[args.arch](num_classes=10)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*images("train")), args.batch_size, shuffle=True,
        drop_last=True)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = training.warmup_cosine(optimizer, len(loader), args.epochs * len(loader))
    losses = training.fit(model, optimizer, loader, loss_of, args, scheduler)
    if not args.quiet:
        print(f"test accuracy {accuracy(model, *images('test')):.4f}")
    return losses


if __name__ == "__main__":
    main()
