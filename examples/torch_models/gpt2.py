"""GPT-2 (Radford and others, "Language models are unsupervised multitask learners", 2019).

A decoder of text with the parameter names of Hugging Face's ``GPT2LMHeadModel``, and sampling
with cached keys and values. Run as a script, this trains a small one on characters of real text
and writes some.

    python gpt2.py --epochs 2 --checkpoint gpt2.pt
    python gpt2.py --epochs 2 --checkpoint gpt2.pt --resume --sample 400 --prompt "A tensor"
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import data
import training

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


@dataclass
class Config:
    """The sizes of the smallest GPT-2."""

    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    dropout: float = 0.1
    layer_norm_epsilon: float = 1e-5


class Conv1D(nn.Module):
    """A linear layer whose weight is [inputs, outputs], as in GPT-2's checkpoints."""

    def __init__(self, outputs: int, inputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.dropout = config.n_head, config.dropout
        self.c_attn = Conv1D(3 * config.n_embd, config.n_embd)
        self.c_proj = Conv1D(config.n_embd, config.n_embd)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x, cache=None):
        n, length, size = x.shape
        q, k, v = (part.view(n, length, self.heads, size // self.heads).transpose(1, 2)
                   for part in self.c_attn(x).split(size, dim=2))
        if cache is None:
            out = F.scaled_dot_product_attention(
                q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
        else:
            k, v = cache.update(self, k, v)
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=cache.mask)
        return self.resid_dropout(self.c_proj(out.transpose(1, 2).reshape(n, length, size)))


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.c_fc = Conv1D(4 * config.n_embd, config.n_embd)
        self.c_proj = Conv1D(config.n_embd, 4 * config.n_embd)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = MLP(config)

    def forward(self, x, cache=None):
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class Cache:
    """Keys and values of the tokens so far, in tensors of a fixed length.

    All steps are of one shape: what lies behind the present position is masked out.
    """

    def __init__(self, length: int) -> None:
        self.length, self.keys, self.values = length, {}, {}
        self.positions = torch.arange(length)
        self.mask = self.now = None

    def advance(self, now) -> None:
        """The positions of the tokens that come next, int64 [k]."""
        self.now = now
        self.mask = self.positions[None, :] <= now[:, None]

    def update(self, layer, k, v):
        """All keys and values of a layer, with new ones [n, heads, k, size] written in place."""
        if layer not in self.keys:
            shape = (*k.shape[:2], self.length, k.shape[3])
            self.keys[layer], self.values[layer] = k.new_zeros(shape), v.new_zeros(shape)
        self.keys[layer].index_copy_(2, self.now, k)
        self.values[layer].index_copy_(2, self.now, v)
        return self.keys[layer], self.values[layer]


class GPT2LMHeadModel(nn.Module):
    """Token numbers [n, length] to logits [n, length, vocab_size]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(config.vocab_size, config.n_embd),
            "wpe": nn.Embedding(config.n_positions, config.n_embd),
            "drop": nn.Dropout(config.dropout),
            "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
            "ln_f": nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon),
        })
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):  # scaled by the number of layers they add to
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * config.n_layer))
        nn.init.normal_(self.transformer["wte"].weight, std=0.02)
        nn.init.normal_(self.transformer["wpe"].weight, std=0.01)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, input_ids, positions=None, cache=None):
        if positions is None:
            positions = torch.arange(input_ids.shape[1])
        parts = self.transformer
        x = parts["drop"](parts["wte"](input_ids) + parts["wpe"](positions))
        for block in parts["h"]:
            x = block(x, cache)
        return self.lm_head(parts["ln_f"](x))

    @torch.no_grad()
    def generate(self, prompt, count: int, temperature: float = 1.0, top_k: int | None = None,
                 top_p: float | None = None):  # fmt: skip
        """``count`` more tokens behind a prompt [n, length]; [n, length + count].

        ``temperature`` 0 takes the likeliest token. ``top_k`` and ``top_p`` leave only the
        likeliest tokens to draw from: so many, or so many as have that probability together.
        """
        if prompt.shape[1] + count > self.config.n_positions:
            raise ValueError(f"{prompt.shape[1]} + {count} tokens are more than the model's "
                             f"{self.config.n_positions} positions")
        was_training = self.training
        self.eval()
        cache = Cache(prompt.shape[1] + count)
        now = torch.arange(prompt.shape[1])
        tokens, found = prompt, [prompt]
        for _ in range(count):
            cache.advance(now)
            logits = self(tokens, now, cache)[:, -1]
            tokens = choose(logits, temperature, top_k, top_p)
            found.append(tokens)
            now = now[-1:] + 1
        self.train(was_training)
        return torch.cat(found, dim=1)


def choose(logits, temperature: float, top_k: int | None, top_p: float | None):
    """One token for each row of logits [n, vocab_size]; [n, 1]."""
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        least = torch.topk(logits, min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    if top_p is not None:
        ordered, order = torch.sort(logits, dim=-1, descending=True)
        before = F.softmax(ordered, dim=-1).cumsum(dim=-1) - F.softmax(ordered, dim=-1)
        ordered = ordered.masked_fill(before >= top_p, -math.inf)
        logits = torch.full_like(logits, -math.inf).scatter(1, order, ordered)
    return torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=2, batch_size=16, lr=1e-3)
    parser.add_argument("--text", metavar="FILE", help="train on this, not on our own pages")
    parser.add_argument("--length", type=int, default=128, help="of the context")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--size", type=int, default=128, help="of the hidden states")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="write N characters")
    parser.add_argument("--prompt", default="The ")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top-k", type=int, default=40)
    parser.add_argument("--top-p", type=float)
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)

    text = data.prose(args.text)
    vocabulary = data.Vocabulary(list(text), size=128)
    numbers = vocabulary.encode(list(text))
    rows = numbers[:(len(numbers) - 1) // args.length * args.length]
    dataset = torch.utils.data.TensorDataset(
        rows.view(-1, args.length), numbers[1:len(rows) + 1].view(-1, args.length))
    loader = torch.utils.data.DataLoader(dataset, args.batch_size, shuffle=True, drop_last=True)

    model = GPT2LMHeadModel(Config(
        vocab_size=len(vocabulary), n_positions=max(args.length, len(args.prompt) + args.sample),
        n_embd=args.size, n_layer=args.layers, n_head=max(args.size // 32, 1)))
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=args.lr, betas=(0.9, 0.95))
    scheduler = training.warmup_cosine(optimizer, 20, args.epochs * len(loader))

    def loss_of(model, batch):
        inputs, targets = batch
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    losses = training.fit(model, optimizer, loader, loss_of, args, scheduler, clip=1.0)
    if args.sample:
        prompt = vocabulary.encode(list(args.prompt))[None]
        found = model.generate(prompt, args.sample, args.temperature, args.top_k, args.top_p)
        print(vocabulary.decode(found[0].tolist()))
    return losses


if __name__ == "__main__":
    main()
