"""RoBERTa (Liu and others, "RoBERTa: A robustly optimized BERT pretraining approach", 2019).

The masked language model, with the parameter names of Hugging Face's ``RobertaForMaskedLM``, so
that its checkpoints load. Run as a script, this trains a small one on words of real text.

    python roberta.py --epochs 3 --checkpoint roberta.pt
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
    """The sizes of RoBERTa-base."""

    vocab_size: int = 50265
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 514
    type_vocab_size: int = 1
    dropout: float = 0.1
    layer_norm_eps: float = 1e-5
    initializer_range: float = 0.02
    pad_token_id: int = 1


class Embeddings(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        size, self.padding = config.hidden_size, config.pad_token_id
        self.word_embeddings = nn.Embedding(config.vocab_size, size, padding_idx=self.padding)
        self.position_embeddings = nn.Embedding(
            config.max_position_embeddings, size, padding_idx=self.padding)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, input_ids):
        # positions count the tokens that are no padding, from padding + 1 on
        mask = input_ids.ne(self.padding).int()
        positions = (torch.cumsum(mask, dim=1).type_as(mask) * mask).long() + self.padding
        x = self.word_embeddings(input_ids) + self.position_embeddings(positions)
        x = x + self.token_type_embeddings(torch.zeros_like(input_ids))
        return self.dropout(self.LayerNorm(x))


class SelfAttention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = config.dropout

    def forward(self, x, mask):
        n, length, size = x.shape
        q, k, v = (part(x).view(n, length, self.heads, size // self.heads).transpose(1, 2)
                   for part in (self.query, self.key, self.value))
        out = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0)
        return out.transpose(1, 2).reshape(n, length, size)


class SelfOutput(nn.Module):
    """A dense layer, dropout, and the norm of the sum with what went in."""

    def __init__(self, inputs: int, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, residual):
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = SelfOutput(config.hidden_size, config)

    def forward(self, x, mask):
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)

    def forward(self, x):
        return F.gelu(self.dense(x))


class Layer(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = SelfOutput(config.intermediate_size, config)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList([Layer(config) for _ in range(config.num_hidden_layers)])

    def forward(self, x, mask):
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Roberta(nn.Module):
    """Token numbers [n, length] to states [n, length, hidden_size]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)

    def forward(self, input_ids, attention_mask=None):
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        return self.encoder(self.embeddings(input_ids), mask)


class LMHead(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.decoder.bias = self.bias

    def forward(self, x):
        return self.decoder(self.layer_norm(F.gelu(self.dense(x))))


class RobertaForMaskedLM(nn.Module):
    """Token numbers [n, length] to logits [n, length, vocab_size].

    The decoder's weight is the word embedding.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.roberta = Roberta(config)
        self.lm_head = LMHead(config)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0.0, config.initializer_range)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        with torch.no_grad():
            for name in ("word_embeddings", "position_embeddings"):
                getattr(self.roberta.embeddings, name).weight[config.pad_token_id].zero_()
        self.lm_head.decoder.weight = self.roberta.embeddings.word_embeddings.weight

    def forward(self, input_ids, attention_mask=None):
        return self.lm_head(self.roberta(input_ids, attention_mask))


SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def mask_tokens(tokens, vocabulary: int, probability: float = 0.15):
    """Inputs and labels: 15 % of the tokens are to be guessed.

    Of these 80 % are masked, 10 % are another token, 10 % are left. Labels are -100 elsewhere.
    """
    mask = SPECIAL.index("<mask>")
    chosen = (torch.rand(tokens.shape) < probability) & (tokens >= len(SPECIAL))
    labels = torch.where(chosen, tokens, -100)
    kind = torch.rand(tokens.shape)
    other = torch.randint(len(SPECIAL), vocabulary, tokens.shape)
    inputs = torch.where(chosen & (kind < 0.8), mask, tokens)
    inputs = torch.where(chosen & (kind >= 0.9), other, inputs)
    return inputs, labels


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=3, batch_size=16, lr=1e-3)
    parser.add_argument("--text", metavar="FILE", help="train on this, not on our own pages")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--size", type=int, default=128, help="of the hidden states")
    parser.add_argument("--vocabulary", type=int, default=2000)
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)

    tokens = data.words(data.prose(args.text))
    vocabulary = data.Vocabulary(tokens, SPECIAL, args.vocabulary)
    numbers = vocabulary.encode(tokens)
    body = args.length - 2
    rows = numbers[:len(numbers) // body * body].view(-1, body)
    start, end = (torch.full((len(rows), 1), SPECIAL.index(s)) for s in ("<s>", "</s>"))
    rows = torch.cat([start, rows, end], dim=1)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(rows), args.batch_size, shuffle=True, drop_last=True)

    model = RobertaForMaskedLM(Config(
        vocab_size=len(vocabulary), hidden_size=args.size, num_hidden_layers=args.layers,
        num_attention_heads=max(args.size // 32, 1), intermediate_size=4 * args.size,
        max_position_embeddings=args.length + 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = training.warmup_cosine(optimizer, 20, args.epochs * len(loader))

    def loss_of(model, batch):
        inputs, labels = mask_tokens(batch[0], len(vocabulary))
        return F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())

    losses = training.fit(model, optimizer, loader, loss_of, args, scheduler, clip=1.0)
    if not args.quiet:
        mean = sum(losses[-20:]) / max(len(losses[-20:]), 1)
        print(f"perplexity of the masked words {math.exp(mean):.1f}")
    return losses


if __name__ == "__main__":
    main()
