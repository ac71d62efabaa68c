"""Values on a mesh of all processes' devices: what one process finds, by the name of a part."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy
from launches import leave

import lazyloom
import lazyloom.distributed as dist
import lazyloom_numpy as np
import lazyloom_torch as torch

sys.path.append(str(Path(__file__).parent.parent.parent))
N = 2 ** 14 + 2 ** 6


def values(mesh: Any) -> Any:
    found: dict[str, Any] = {"mesh": (mesh.text, repr(mesh)), "shape": mesh.shape}
    whole = numpy.arange(float(N)).reshape(N // 8, 8)
    x = lazyloom.shard(np.asarray(whole), mesh, ("data",))
    y = np.tanh(x / N)
    z = y @ np.ones((8, 3))
    means = y.mean(axis=0).tolist()
    found["places"] = (x.device, repr(lazyloom.placement_of(x)))
    found["picture"] = [str(lazyloom.visualize_sharding(v)).splitlines()[2:] for v in (
        x, lazyloom.shard(np.ones(4), mesh, ()))]
    found["record"] = lazyloom.last_evaluation().text()
    found["mean"] = (means, numpy.tanh(whole / N).mean(axis=0).tolist())
    found["z"] = float(abs(numpy.asarray(z) - numpy.tanh(whole / N) @ numpy.ones((8, 3))).max())
    found["element"] = (float(x[N // 8 - 1, 7]), whole[-1, -1])
    found["gathered"] = numpy.array_equal(numpy.asarray(x), whole)
    found["back"] = numpy.array_equal(numpy.asarray(x.to_device("cpu") + 1), whole + 1)
    found["own"] = numpy.asarray(dist.local_array(x))[:, 0].tolist()[:2]
    found["own shape"] = dist.local_array(x).shape
    part = np.full((6, 2), float(dist.rank()))
    made = dist.array_from_local(part, mesh, ("data",))
    found["made"] = (made.shape, float(made.sum()), dist.local_array(made * 2).tolist()[0])
    made = np.asarray(dist.array_from_local(numpy.asarray(part), mesh, ("data",)))
    found["made of NumPy's"] = (made.shape, float(made.sum()))
    other = lazyloom.shard(made, mesh, ())
    found["divided otherwise"] = numpy.asarray(other).sum().item()
    mapped = lazyloom.shard_map(
        lambda x: (dist.all_reduce(x.sum(), "sum", "data"), dist.all_gather(x[:1], 0, "data")),
        mesh=mesh, in_specs=("data",), out_specs=[(), ()])
    total, firsts = mapped(x)
    found["mapped"] = (float(total), whole.sum(), firsts.tolist(),
                       whole[:: whole.shape[0] // mesh.shape["data"]].tolist())
    x[0] = 5.0
    found["written"] = float(x[0].sum())
    x[1, 2] = 7.0
    found["element written"] = (x[1, 2].item(), x[1].tolist()[2])
    other = dist.make_mesh({"data": 2}, [0, 2])
    found["moved"] = (float(lazyloom.shard(x, other, ("data",)).sum()), float(x.sum()))
    total = dist.all_reduce(np.ones(8) * dist.rank(), "sum")
    found["beside a collective"] = ((x[2] + total).tolist(), (whole[2] + 1).tolist())
    found["own of what was just put there"] = dist.local_array(
        lazyloom.shard(np.arange(4), mesh, ("data",))).shape
    y = lazyloom.shard(np.zeros(8), mesh, ("data",))
    y[1:3] += 1
    z = y * 2
    y.tolist(), z.tolist()
    found["divided after a read"] = [
        (lazyloom.placement_of(v).spec, dist.local_array(v).shape) for v in (y, z)]
    found["dlpack"] = numpy.from_dlpack(x)[1].tolist()[2]
    torch.manual_seed(3)
    drawn = lazyloom.shard(torch.zeros(N // 8, 8), mesh, ("data",)).normal_()
    torch.manual_seed(3)
    found["drawn"] = torch.equal(
        torch.tensor(numpy.asarray(drawn)), torch.zeros(N // 8, 8).normal_())
    w = lazyloom.shard(torch.ones(8, 4), mesh, ()).requires_grad_()
    t = lazyloom.shard(torch.tensor(whole.astype("float32")), mesh, ("data",))
    ((t @ w) ** 2).mean().backward()
    own = torch.ones(8, 4, requires_grad=True)
    ((torch.tensor(whole.astype("float32")) @ own) ** 2).mean().backward()
    found["gradient"] = float(((w.grad.cpu() - own.grad) / own.grad).abs().max())
    return found


def flight(mesh: Any) -> Any:
    x = lazyloom.shard(np.zeros((16,)), mesh, ("data",))
    for _ in range(300):
        x = x + x.mean() + 1
        dist.dispatch(x)
    return float(x.sum()) > 0


def training(mesh: Any, models: list[str]) -> Any:
    from tests.devices.eight.training import by_columns_then_rows, by_rows, train, whole

    found = {}
    for given in models:
        model, _, only = given.partition(":")
        adam = model == "block"
        expected = train(model, None, adam, mesh)
        for division in (whole, by_rows, by_columns_then_rows):
            if only not in ("", division.__name__):
                continue
            found[f"{model} {division.__name__}"] = (
                train(model, division, adam, mesh).tolist(), expected.tolist())
    return found


def another_program(mesh: Any) -> Any:
    x = lazyloom.shard(np.ones((16,)), mesh, ("data",))
    float(x.sum())
    y = x * 2
    if dist.rank() == 1:
        y = np.exp(y)
    return error_of(lambda: float(y.sum()))


def another_value(mesh: Any) -> Any:
    def steps() -> None:
        x = lazyloom.shard(np.full((16,), float(dist.rank())), mesh, ("data",))
        for _ in range(4000):
            x = x + 1
            float(x.sum())

    return error_of(steps)


def another_number(mesh: Any) -> Any:
    def steps() -> None:
        x = lazyloom.shard(np.ones((16,)), mesh, ("data",))
        for _ in range(4000):
            float((x * (0.5 + dist.rank())).sum())

    return error_of(steps)


def killed(mesh: Any) -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the launcher's, which would come first

    def steps() -> None:
        x = lazyloom.shard(np.ones((16,)), mesh, ("data",))
        for k in range(4000):
            x = x + x.mean()
            x = x / x.max()
            dist.dispatch(x)
            if k == 40 and dist.rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)

    return error_of(steps)


def error_of(run: Any) -> str:
    try:
        run()
    except dist.DistributedError as error:
        return str(error)
    return "none"


if __name__ == "__main__":
    dist.init(timeout=50)
    what, *rest = sys.argv[1:]
    sizes = dict(a.split("=") for a in rest if "=" in a)
    on = dist.make_mesh({name: int(n) for name, n in sizes.items()})
    leave(globals()[what](on, *[[a for a in rest if "=" not in a]] * (what == "training")))
    if what in ("values", "flight", "training"):
        dist.shutdown()
