"""MobileNetV2 (Sandler and others, "Inverted residuals and linear bottlenecks", 2018)."""

from __future__ import annotations

from typing import Any

from ..weights import initialise

#: expansion, channels, how often, and the stride of the first: table 2 of the paper
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
          (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip


def model_of(torch: Any, classes: int = 1000) -> Any:
    """Images [n, 3, h, w] to logits [n, classes]."""
    nn = torch.nn

    def convolved(inputs: int, outputs: int, side: int, stride: int = 1, groups: int = 1) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, side, stride, side // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))  # fmt: skip

    class Inverted(nn.Module):
        """Wide, one kernel a channel, narrow again without an activation."""

        def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
            super().__init__()
            wide = inputs * expansion
            self.added = stride == 1 and inputs == outputs
            self.body = nn.Sequential(
                *([convolved(inputs, wide, 1)] if expansion > 1 else []),
                convolved(wide, wide, 3, stride, groups=wide),
                nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.added else self.body(x)

    class MobileNetV2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            parts, channels = [convolved(3, 32, 3, stride=2)], 32
            for expansion, outputs, count, stride in STAGES:
                for k in range(count):
                    parts.append(Inverted(channels, outputs, stride if k == 0 else 1, expansion))
                    channels = outputs
            self.features = nn.Sequential(*parts, convolved(channels, 1280, 1))
            self.output = nn.Linear(1280, classes)

        def forward(self, x: Any) -> Any:
            return self.output(self.features(x).mean(dim=(2, 3)))

    return initialise(torch, MobileNetV2(), 9)
