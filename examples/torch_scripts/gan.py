"""A generative adversarial network that learns to draw digits: two networks, two optimizers."""

from __future__ import annotations

import digits
import reproducible

import lazyloom_torch as torch

nn = torch.nn


class Generator(nn.Module):
    def __init__(self, noise=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(noise, 64), nn.BatchNorm1d(64), nn.LeakyReLU(0.2),
            nn.Linear(64, 128), nn.BatchNorm1d(128), nn.LeakyReLU(0.2),
            nn.Linear(128, 64), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


def run(steps: int = 150, batch_size: int = 64, noise: int = 16):
    random = reproducible.generator(4)
    generator = reproducible.initialise(Generator(noise), random)
    discriminator = reproducible.initialise(Discriminator(), random)
    images, _ = digits.load("train")
    images = images.flatten(1) * 2.0 - 1.0
    criterion = nn.BCEWithLogitsLoss()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    real_label, fake_label = torch.full((batch_size,), 0.9), torch.zeros(batch_size)
    losses_g, losses_d = [], []
    for _ in range(steps):
        real = images[torch.from_numpy(random.integers(0, len(images), batch_size))]
        fake = generator(reproducible.normal(random, batch_size, noise))

        discriminator.zero_grad()
        loss_real = criterion(discriminator(real), real_label)
        loss_real.backward()
        loss_fake = criterion(discriminator(fake.detach()), fake_label)
        loss_fake.backward()
        optimizer_d.step()

        generator.zero_grad()
        loss_g = criterion(discriminator(fake), real_label)
        loss_g.backward()
        optimizer_g.step()

        losses_d.append((loss_real + loss_fake).item())
        losses_g.append(loss_g.item())
    generator.eval()
    with torch.no_grad():
        drawn = generator(reproducible.normal(random, 4, noise))
    return {"generator": losses_g, "discriminator": losses_d, "drawn": drawn.numpy()}


if __name__ == "__main__":
    found = run()
    print(f"loss of the generator {found['generator'][-1]:.3f}, of the discriminator "
          f"{found['discriminator'][-1]:.3f}")
    for row in found["drawn"][0].reshape(8, 8):
        print("".join(" .:-=+*#%@"[int(4.999 * (v + 1))] * 2 for v in row))
