"""An autoencoder that takes the noise out of handwritten digits."""

from __future__ import annotations

import digits
import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class Autoencoder(nn.Module):
    def __init__(self, code=12):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 2 * 2, code))
        self.decoder = nn.Sequential(
            nn.Linear(code, 16 * 2 * 2), nn.ReLU(), nn.Unflatten(1, (16, 2, 2)),
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


def run(steps: int = 200, batch_size: int = 64):
    random = reproducible.generator(3)
    model = reproducible.initialise(Autoencoder(), random)
    images, _ = digits.load("train")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    losses = []
    for _ in range(steps):
        chosen = torch.from_numpy(random.integers(0, len(images), batch_size))
        clean = images[chosen]
        noisy = (clean + 0.3 * reproducible.normal(random, *clean.shape)).clamp(0.0, 1.0)
        loss = F.binary_cross_entropy(model(noisy), clean)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    test, _ = digits.load("test")
    noisy = (test + 0.3 * reproducible.normal(random, *test.shape)).clamp(0.0, 1.0)
    with torch.no_grad():
        before, after = F.mse_loss(noisy, test), F.mse_loss(model(noisy), test)
    return {"losses": losses, "before": before.item(), "after": after.item()}


if __name__ == "__main__":
    found = run()
    print(f"squared error of the noisy images {found['before']:.4f}, mended {found['after']:.4f}")
