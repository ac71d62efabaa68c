"""A binary tree-structured LSTM (Tai, Socher and Manning, 2015) over random trees.

A tree is nested pairs; the network is called along it, so that each sample is another program.
"""

from __future__ import annotations

from typing import Any

import numpy

from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"trees": 4, "leaves": 8, "hidden": 8, "epochs": 2},
    "full": {"trees": 200, "leaves": 40, "hidden": 64, "epochs": 2},
}
WORDS, CLASSES, FEWEST = 200, 5, 5

#: a word, or two trees
Tree = Any


def trees_of(count: int, most: int) -> list[tuple[Tree, int]]:
    """Random binary trees, every cut equally likely, each with a class."""
    random = numpy.random.default_rng(12)

    def grown(leaves: int) -> Tree:
        if leaves == 1:
            return int(random.integers(WORDS))
        left = int(random.integers(1, leaves))
        return grown(left), grown(leaves - left)

    return [(grown(int(random.integers(min(FEWEST, most), most + 1))),
             int(random.integers(CLASSES))) for _ in range(count)]  # fmt: skip


def model_of(torch: Any, hidden: int) -> Any:
    nn = torch.nn

    class TreeLSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, hidden)
            self.leaf = nn.Linear(hidden, 3 * hidden)
            self.left = nn.Linear(hidden, 5 * hidden)
            self.right = nn.Linear(hidden, 5 * hidden, bias=False)
            self.output = nn.Linear(hidden, CLASSES)

        def visit(self, tree: Tree) -> tuple[Any, Any]:
            """State and memory of a tree, [1, hidden] each."""
            if isinstance(tree, int):
                gates = self.leaf(self.embedding(torch.tensor([tree])))
                i, o, u = torch.chunk(gates, 3, dim=1)
                c = torch.sigmoid(i) * torch.tanh(u)
            else:
                (h_left, c_left), (h_right, c_right) = self.visit(tree[0]), self.visit(tree[1])
                gates = self.left(h_left) + self.right(h_right)
                i, f_left, f_right, o, u = torch.chunk(gates, 5, dim=1)
                c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f_left) * c_left
                c = c + torch.sigmoid(f_right) * c_right
            return torch.sigmoid(o) * torch.tanh(c), c

        def forward(self, tree: Tree) -> Any:
            return self.output(self.visit(tree)[0])

    return initialise(torch, TreeLSTM(), 2)


def run(torch: Any, progress: Progress, trees: int, leaves: int, hidden: int,
        epochs: int) -> None:  # fmt: skip
    """Train tree by tree with Adam; the loss is read each time."""
    model = model_of(torch, hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    samples = trees_of(trees, leaves)
    progress.begin()
    for epoch in range(epochs):
        if epoch:
            progress.next_epoch()
        for tree, label in samples:
            loss = torch.nn.functional.cross_entropy(model(tree), torch.tensor([label]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
