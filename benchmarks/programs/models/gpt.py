"""A decoder-only transformer (Radford and others, 2019), norms first, output tied to the input."""

from __future__ import annotations

from typing import Any

from ..weights import initialise


def model_of(torch: Any, layers: int, width: int, heads: int, tokens: int, length: int) -> Any:
    """Token numbers [n, up to length] to logits [n, up to length, tokens]."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width)
            self.joined = nn.Linear(width, width)
            self.wide = nn.Linear(width, 4 * width)
            self.narrow = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            n, now, _ = x.shape
            q, k, v = (part.view(n, now, heads, width // heads).transpose(1, 2)
                       for part in self.qkv(self.norm1(x)).split(width, dim=2))  # fmt: skip
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.joined(attended.transpose(1, 2).reshape(n, now, width))
            return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(tokens, width)
            self.places = nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, numbers: Any) -> Any:
            x = self.words(numbers) + self.places(torch.arange(numbers.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.norm(x) @ self.words.weight.T

    return initialise(torch, GPT(), 8)
