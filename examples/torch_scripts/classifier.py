"""A classifier of handwritten digits: two convolutions, two linear layers, SGD."""

from __future__ import annotations

import digits
import reproducible

import lazyloom_torch as torch

nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, loader, optimizer):
    model.train()
    losses = []
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test(model, loader):
    model.eval()
    total, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            total += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            count += len(data)
    return total / count, correct / count


def run(epochs: int = 4, batch_size: int = 32, limit: int | None = None):
    random = reproducible.generator(1)
    model = reproducible.initialise(Net(), random)
    dataset = torch.utils.data.TensorDataset(*digits.load("train"))
    order = random.permutation(len(dataset)).tolist()[:limit]
    train_loader = torch.utils.data.DataLoader(
        torch.utils.data.Subset(dataset, order), batch_size=batch_size, drop_last=True)
    test_loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*digits.load("test")), batch_size=120)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    losses = []
    for _ in range(epochs):
        losses += train(model, train_loader, optimizer)
        scheduler.step()
    loss, accuracy = test(model, test_loader)
    return {"losses": losses, "test loss": loss, "accuracy": accuracy}


if __name__ == "__main__":
    found = run()
    print(f"test loss {found['test loss']:.4f}, accuracy {found['accuracy']:.4f}")
