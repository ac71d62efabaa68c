"""The digits classifier as a NumPy program.

``python digits_numpy.py [DATA_FOLDER [REPORT.json]]``
"""

from __future__ import annotations

import digits_data as data
import numpy

import lazyloom
import lazyloom_numpy as np


def relu(x: np.ndarray) -> np.ndarray:
    return lazyloom.apply("relu", [x])


def logits_of(w1, b1, w2, b2, w3, b3, x):
    h = relu(x @ w1 + b1)
    h = relu(h @ w2 + b2)
    return h @ w3 + b3


def loss_of(w1, b1, w2, b2, w3, b3, x, y):
    return lazyloom.apply("cross_entropy", [logits_of(w1, b1, w2, b2, w3, b3, x), y])


loss_and_gradients = lazyloom.value_and_grad(loss_of, argnums=(0, 1, 2, 3, 4, 5))


def train_step(parameters, momenta, images, labels, chosen):
    """One step of gradient descent with momentum, in place; the loss before it."""
    x, y = np.take(images, chosen, axis=0), np.take(labels, chosen, axis=0)
    loss, gradients = loss_and_gradients(*parameters, x, y)
    for parameter, momentum, gradient in zip(parameters, momenta, gradients):
        momentum *= data.MOMENTUM
        momentum += gradient
        parameter -= momentum * data.LEARNING_RATE
    return loss


def accuracy_of(parameters, images, labels):
    guesses = np.argmax(logits_of(*parameters, images), axis=1)
    return float((numpy.asarray(guesses) == labels).mean())


def main() -> None:
    report = data.Report("numpy")
    random = data.SplitMix64(data.SEED)
    parameters = [np.array(w) for w in data.initial_weights(random)]
    momenta = [np.zeros_like(p) for p in parameters]
    train_images, train_labels = map(np.array, data.load(report.folder, "train"))
    test_images, test_labels = data.load(report.folder, "test")
    test_images = np.array(test_images)

    for number, epoch in enumerate(data.batches(len(train_images), random), 1):
        for chosen in epoch:
            with report.step() as losses:
                loss = train_step(parameters, momenta, train_images, train_labels, np.array(chosen))
                losses.append(float(loss))
        accuracy = accuracy_of(parameters, test_images, test_labels)
        report.epoch(number, accuracy)
    report.finish(accuracy)


if __name__ == "__main__":
    main()
