"""A variational autoencoder (Kingma and Welling, "Auto-encoding variational Bayes", 2013) of the
digits: codes of a few numbers from which digits are drawn.

    python vae.py --epochs 30 --checkpoint vae.pt --sample 3
"""

from __future__ import annotations

import data
import training

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class VAE(nn.Module):
    """Images [n, 64] in 0..1 to logits of new ones, and the code's means and log variances."""

    def __init__(self, pixels: int = 64, hidden: int = 128, code: int = 8) -> None:
        super().__init__()
        self.code = code
        self.fc1 = nn.Linear(pixels, hidden)
        self.fc21 = nn.Linear(hidden, code)
        self.fc22 = nn.Linear(hidden, code)
        self.fc3 = nn.Linear(code, hidden)
        self.fc4 = nn.Linear(hidden, pixels)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        """Logits of the pixels."""
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_of(model, batch):
    """The negative evidence lower bound, in nats an image."""
    (images,) = batch
    logits, mu, logvar = model(images)
    drawn = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (drawn + divergence) / len(images)


def as_text(image) -> str:
    """A picture [8, 8] in characters."""
    shades = " .:-=+*#%@"
    return "\n".join("".join(2 * shades[min(int(10 * v), 9)] for v in row) for row in image)


def main(arguments: list[str] | None = None) -> list[float]:
    parser = training.options(__doc__.split("\n")[0], epochs=30, batch_size=64, lr=2e-3)
    parser.add_argument("--code", type=int, default=8, help="numbers a code has")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="draw N digits")
    args = parser.parse_args(arguments)
    torch.manual_seed(args.seed)
    images, _ = data.digits("train")
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images.flatten(1)), args.batch_size, shuffle=True,
        drop_last=True)
    model = VAE(code=args.code)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    losses = training.fit(model, optimizer, loader, loss_of, args)
    model.eval()
    with torch.no_grad():
        if not args.quiet:
            test, _ = data.digits("test")
            print(f"nats a test image {loss_of(model, (test.flatten(1),)).item():.2f}")
        if args.sample:
            drawn = torch.sigmoid(model.decode(torch.randn(args.sample, model.code)))
            for image in drawn.view(-1, 8, 8).tolist():
                print(as_text(image), end="\n\n")
    return losses


if __name__ == "__main__":
    main()
