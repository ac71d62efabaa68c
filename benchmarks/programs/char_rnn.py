"""A character RNN with its derivatives written out, in plain NumPy, trained by Adagrad.

The vanilla network of Elman (1990), unrolled over a window of the text and differentiated by hand
step by step; the state is carried from window to window.
"""

from __future__ import annotations

from typing import Any

import numpy

from .progress import Progress

KIND = "numpy"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"hidden": 8, "window": 4, "steps": 3, "every": 2, "epochs": 2},
    "full": {"hidden": 64, "window": 25, "steps": 200, "every": 50, "epochs": 2},
}
ALPHABET = 40


def text_of(length: int) -> list[int]:
    """Letters by a random first-order chain that favours a few successors."""
    random = numpy.random.default_rng(16)
    chances = random.dirichlet(numpy.full(ALPHABET, 0.1), ALPHABET)
    found = [0]
    while len(found) < length:
        found.append(int(random.choice(ALPHABET, p=chances[found[-1]])))
    return found


class Network:
    """Weights by name, and what Adagrad has gathered of each."""

    def __init__(self, np: Any, hidden: int) -> None:
        random = numpy.random.default_rng(17)
        shapes = {"in": (hidden, ALPHABET), "state": (hidden, hidden), "out": (ALPHABET, hidden),
                  "bias": (hidden, 1), "out bias": (ALPHABET, 1)}  # fmt: skip
        self.np = np
        self.hidden = hidden
        self.weights = {name: np.array(0.1 * random.standard_normal(shape) * (shape[1] > 1))
                        for name, shape in shapes.items()}  # fmt: skip
        self.gathered = {name: np.zeros(shape) for name, shape in shapes.items()}

    def one_hot(self, letter: int) -> Any:
        x = self.np.zeros((ALPHABET, 1))
        x[letter] = 1.0
        return x

    def gradients(self, inputs: list[int], targets: list[int], h: Any) -> tuple[Any, Any, Any]:
        """The window's loss, the derivatives by name, and the last state."""
        np, w = self.np, self.weights
        loss = 0.0
        xs, states, chances = [], [h], []
        for letter, target in zip(inputs, targets):
            x = self.one_hot(letter)
            h = np.tanh(w["in"] @ x + w["state"] @ h + w["bias"])
            y = w["out"] @ h + w["out bias"]
            p = np.exp(y - np.max(y))
            p = p / np.sum(p)
            loss = loss - np.log(p[target, 0])
            xs.append(x)
            states.append(h)
            chances.append(p)
        found = {name: np.zeros_like(weight) for name, weight in w.items()}
        dh_next = np.zeros_like(h)
        for k in reversed(range(len(inputs))):
            dy = np.copy(chances[k])
            dy[targets[k]] -= 1.0
            found["out"] += dy @ states[k + 1].T
            found["out bias"] += dy
            dh = w["out"].T @ dy + dh_next
            inner = (1.0 - states[k + 1] * states[k + 1]) * dh
            found["bias"] += inner
            found["in"] += inner @ xs[k].T
            found["state"] += inner @ states[k].T
            dh_next = w["state"].T @ inner
        for gradient in found.values():
            np.clip(gradient, -5, 5, out=gradient)
        return loss, found, h

    def update(self, gradients: Any) -> None:
        """A step of Adagrad."""
        for name, gradient in gradients.items():
            self.gathered[name] += gradient * gradient
            self.weights[name] -= 0.1 * gradient / self.np.sqrt(self.gathered[name] + 1e-8)

    def written(self, h: Any, letter: int, count: int, dice: numpy.random.Generator) -> list[int]:
        """Letters that the network draws, beginning after that one."""
        np, w = self.np, self.weights
        found = []
        for _ in range(count):
            h = np.tanh(w["in"] @ self.one_hot(letter) + w["state"] @ h + w["bias"])
            y = w["out"] @ h + w["out bias"]
            p = np.exp(y - np.max(y))
            drawn = np.searchsorted(np.cumsum(p.ravel() / np.sum(p)), dice.random())
            letter = min(int(drawn), ALPHABET - 1)
            found.append(letter)
        return found


def run(np: Any, progress: Progress, hidden: int, window: int, steps: int, every: int,
        epochs: int) -> None:  # fmt: skip
    """Read the loss of every window; now and then the network writes a line."""
    text = text_of(steps * window + 1)
    network = Network(np, hidden)
    dice = numpy.random.default_rng(18)
    progress.begin()
    for epoch in range(epochs):
        if epoch:
            progress.next_epoch()
        h = np.zeros((hidden, 1))
        for step in range(steps):
            first = step * window
            inputs, targets = text[first : first + window], text[first + 1 : first + window + 1]
            if step % every == 0:
                network.written(h, inputs[0], 2 * window, dice)
            loss, gradients, h = network.gradients(inputs, targets, h)
            network.update(gradients)
            progress.sample(float(loss) / window)
