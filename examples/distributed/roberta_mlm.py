"""RoBERTa-base, masked language modelling in bfloat16 with gradient accumulation, on real text.

    python -m lazyloom_torch roberta_mlm.py --devices 8
    python -m lazyloom_torch run -n 2 roberta_mlm.py --checkpoint roberta.pt
    python -m lazyloom_torch roberta_mlm.py --text book.txt --layers 4 --width 256

Without a file it reads the reference of Python's language (700 kB), which Python brings along for
help(). Products are computed in bfloat16 (torch.autocast), parameters and the optimizer's state
are float32.
"""

from __future__ import annotations

import math

import text
import torch
import torch.nn.functional as F
import trainer


def main() -> None:
    parser = trainer.options(
        __doc__.split("\n")[0], steps=500, batch=32, accumulate=4, lr=5e-4, warmup=50)
    add = parser.add_argument
    add("--text", metavar="FILE", help="UTF-8 text to train on")
    add("--length", type=int, default=128, help="tokens of a row")
    add("--width", type=int, default=768, help="of the hidden states, 64 of them a head")
    add("--layers", type=int, default=12)
    add("--vocabulary", type=int, default=8192, help="tokens; RoBERTa's own has 50,265")
    add("--dropout", type=float, default=0.1)
    add("--dtype", choices=["bfloat16", "float32"], default="bfloat16", help="of products")
    args = parser.parse_args()
    place = trainer.place_of(args)

    words = text.read(args.text)
    vocabulary = text.BytePairs(words, args.vocabulary)
    rows = text.MaskedRows(vocabulary.encode(words), args.length, len(vocabulary))
    if place.rank == 0 and not args.quiet:
        print(f"{len(rows)} rows of {args.length} tokens, {len(vocabulary)} different ones")

    roberta = trainer.model_file("roberta")
    torch.manual_seed(args.seed)
    model = roberta.RobertaForMaskedLM(roberta.Config(
        vocab_size=len(vocabulary), hidden_size=args.width, num_hidden_layers=args.layers,
        num_attention_heads=max(args.width // 64, 1), intermediate_size=4 * args.width,
        max_position_embeddings=args.length + 2, dropout=args.dropout))
    optimizer = torch.optim.AdamW(
        model.parameters(), args.lr, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.01)

    def loss_of(model, inputs, labels):
        with torch.autocast("cpu", torch.bfloat16, enabled=args.dtype == "bfloat16"):
            logits = model(inputs)
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())

    losses = trainer.train(args, place, model, optimizer, len(rows), rows.batch, loss_of,
                           clip=1.0, unit="tokens", per_row=args.length)
    if place.rank == 0 and losses and not args.quiet:
        mean = sum(losses[-20:]) / len(losses[-20:])
        print(f"perplexity of the masked tokens {math.exp(mean):.1f}")
    place.close()


if __name__ == "__main__":
    main()
