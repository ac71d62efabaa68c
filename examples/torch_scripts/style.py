"""Neural style (Gatys, Ecker and Bethge, 2015): an image is optimised, not a network.

The features are those of a network with random weights, which is enough to move textures; the
content is a handwritten digit, the style a pattern of stripes. L-BFGS, as in the paper.
"""

from __future__ import annotations

import digits
import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


def features(random):
    """A frozen network whose layers are looked at."""
    network = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(12, 16, 3, padding=1), nn.Tanh())
    reproducible.initialise(network, random).eval()
    return network.requires_grad_(False)


def gram(x):
    n, c, h, w = x.shape
    flat = x.reshape(n, c, h * w)
    return flat @ flat.transpose(1, 2) / (c * h * w)


def looked_at(network, image):
    """What the layers behind each activation say of an image."""
    found = []
    for layer in network:
        image = layer(image)
        if isinstance(layer, nn.Tanh):
            found.append(image)
    return found


def stripes(size: int):
    ramp = torch.arange(size).float()
    return (0.5 + 0.5 * torch.sin(ramp[:, None] + ramp[None, :])).view(1, 1, size, size)


def run(steps: int = 6, size: int = 16):
    random = reproducible.generator(9)
    network = features(random)
    content = F.interpolate(digits.load("test")[0][:1], size=(size, size), mode="nearest")
    with torch.no_grad():
        wanted_content = looked_at(network, content)[-1]
        wanted_style = [gram(x) for x in looked_at(network, stripes(size))]
    image = content.clone().requires_grad_(True)
    optimizer = torch.optim.LBFGS([image], max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        found = looked_at(network, image)
        style = sum(F.mse_loss(gram(x), w) for x, w in zip(found, wanted_style))
        outside = (image - image.clamp(0.0, 1.0)).pow(2).mean()
        loss = 1e3 * style + F.mse_loss(found[-1], wanted_content) + outside
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    return {"losses": losses, "image": image.detach().clamp(0.0, 1.0).numpy()[0, 0]}


if __name__ == "__main__":
    found = run(steps=20)
    print(f"loss {found['losses'][0]:.4f} at first, {found['losses'][-1]:.4f} at last")
    for row in found["image"]:
        print("".join(" .:-=+*#%@"[int(9.999 * v)] * 2 for v in row))
