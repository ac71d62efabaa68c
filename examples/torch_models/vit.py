"""A vision transformer (Dosovitskiy and others, "An image is worth 16x16 words", 2020).

With the parameter names of torchvision's checkpoints. Run as a script, this trains a small one
on the digits, in patches of 2 by 2.

    python vit.py --epochs 20 --checkpoint vit.pt
"""

from __future__ import annotations

import math

import data
import training

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class EncoderBlock(nn.Module):
    def __init__(self, heads: int, size: int, mlp: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(size, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(size, heads, dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(size, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(size, mlp), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp, size),
            nn.Dropout(dropout))
        for layer in (self.mlp[0], self.mlp[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def forward(self, x):
        y = self.ln_1(x)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        x = x + self.dropout(y)
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(self, length: int, layers: int, heads: int, size: int, mlp: int,
                 dropout: float) -> None:  # fmt: skip
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, length, size).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential()
        for i in range(layers):
            self.layers.add_module(
                f"encoder_layer_{i}", EncoderBlock(heads, size, mlp, dropout))
        self.ln = nn.LayerNorm(size, eps=1e-6)

    def forward(self, x):
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Images [n, channels, image, image] to logits [n, num_classes]."""

    def __init__(self, image: int, patch: int, layers: int, heads: int, size: int, mlp: int,
                 num_classes: int = 1000, channels: int = 3, dropout: float = 0.0) -> None:
        super().__init__()
        if image % patch:
            raise ValueError(f"patches of {patch} do not fill an image of {image}")
        self.conv_proj = nn.Conv2d(channels, size, patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, size))
        self.encoder = Encoder((image // patch) ** 2 + 1, layers, heads, size, mlp, dropout)
        self.heads = nn.Sequential()
        self.heads.add_module("head", nn.Linear(size, num_classes))
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / (channels * patch**2)))
        nn.init.zeros_(self.conv_proj.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.heads(self.encoder(x)[:, 0])


def vit_b_16(num_classes: int = 1000):
    return VisionTransformer(224, 16, 12, 12, 768, 3072, num_classes)


def vit_digits(size: int = 64, layers: int = 4):
    return VisionTransformer(8, 2, layers, 4, size, 2 * size, num_classes=10, channels=1,
                             dropout=0.1)


def loss_of(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels)


@torch.no_grad()
def accuracy(model, images, labels) -> float:
    model.eval()
    return (model(images).argmax(dim=1) == labels).float().mean().item()


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=20, batch_size=64, lr=1e-3)
    parser.add_argument("--size", type=int, default=64, help="of the hidden states")
    parser.add_argument("--layers", type=int, default=4)
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)
    model = vit_digits(args.size, args.layers)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*data.digits("train")), args.batch_size, shuffle=True,
        drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    scheduler = training.warmup_cosine(optimizer, len(loader), args.epochs * len(loader))
    losses = training.fit(model, optimizer, loader, loss_of, args, scheduler, clip=1.0)
    if not args.quiet:
        print(f"test accuracy {accuracy(model, *data.digits('test')):.4f}")
    return losses


if __name__ == "__main__":
    main()
