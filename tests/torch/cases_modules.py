"""Programs that both libraries can run: the machinery of modules, and containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any], Any]


def linear(t: Any) -> Any:
    m = t.nn.Linear(2, 2)
    with t.no_grad():
        m.weight.copy_(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
        m.bias.copy_(t.tensor([0.5, -0.5]))
    return m


def ones(t: Any) -> Any:
    return t.ones(3, 2, requires_grad=True)


def _outcome(f: Callable[[], Any]) -> str:
    try:
        f()
    except Exception as error:
        return type(error).__name__
    return "done"


# Hooks


def full_backward(t: Any) -> Any:
    m, x, seen = linear(t), ones(t), []
    m.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].clone(), go[0].clone())))
    (m(x) ** 2).sum().backward()
    return seen, x.grad, m.weight.grad


def gradients_replaced(t: Any) -> Any:
    m, x = linear(t), ones(t)
    m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    m.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    (m(x) ** 2).sum().backward()
    return x.grad, m.weight.grad, m.bias.grad


def hook_without_input_gradient(t: Any) -> Any:
    m, seen = linear(t), []
    m.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0] is None, go[0].clone())))
    (m(t.ones(3, 2)) ** 2).sum().backward()
    return seen, m.weight.grad


def several_inputs_and_outputs(t: Any) -> Any:
    class Two(t.nn.Module):
        def forward(self, a: Any, b: Any, k: int) -> Any:
            return a * b, a + b * k

    m, seen = Two(), []
    m.register_full_backward_hook(lambda m, gi, go: seen.append((list(gi), list(go))))
    a, b = ones(t), t.full((3, 2), 3.0, requires_grad=True)
    p, q = m(a, b, 2)
    (p.sum() + 2 * q.sum()).backward()
    return seen, a.grad, b.grad


def hook_returns_too_many(t: Any) -> Any:
    m = linear(t)
    m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    m(ones(t)).sum().backward()


def hook_and_second_derivative(t: Any) -> Any:
    m, x, seen = linear(t), ones(t), []
    m.register_full_backward_hook(lambda m, gi, go: seen.append(1))
    (g,) = t.autograd.grad((m(x) ** 3).sum(), [x], create_graph=True)
    g.sum().backward()
    return seen, g, m.weight.grad


def hooks_with_keywords(t: Any) -> Any:
    class Scaled(t.nn.Module):
        def forward(self, a: Any, *, k: Any) -> Any:
            return a * k

    m = Scaled()
    handle = m.register_forward_pre_hook(
        lambda m, args, kw: ((args[0] + 1,), {"k": kw["k"] * 2}), with_kwargs=True)
    m.register_forward_hook(lambda m, args, kw, out: out + kw["k"], with_kwargs=True)
    first = m(t.ones(2), k=3.0)
    handle.remove()
    return first, m(t.ones(2), k=3.0)


def order_of_hooks(t: Any) -> Any:
    m, seen = t.nn.Identity(), []
    for name, first in (("a", False), ("b", True), ("c", False)):
        m.register_forward_hook(lambda *_, name=name: seen.append(name), prepend=first)
        m.register_forward_pre_hook(lambda *_, name=name: seen.append(f"pre {name}"),
                                    prepend=first)
    m(1)
    return seen


def hooks_called_in_any_case(t: Any) -> Any:
    class Fails(t.nn.Module):
        def forward(self) -> Any:
            raise ValueError("no")

    m, seen = Fails(), []
    m.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    m.register_forward_hook(lambda m, args, out: seen.append(7))
    return _outcome(m), seen


def hooks_of_all_modules(t: Any) -> Any:
    made, seen = t.nn.modules.module, []
    handles = [
        made.register_module_forward_pre_hook(lambda m, a: seen.append(("pre", m._get_name()))),
        made.register_module_forward_hook(lambda m, a, o: seen.append(("post", m._get_name()))),
        made.register_module_full_backward_hook(
            lambda m, gi, go: seen.append(("back", m._get_name()))),
        made.register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
        made.register_module_buffer_registration_hook(lambda m, n, p: seen.append(n)),
        made.register_module_module_registration_hook(lambda m, n, p: seen.append(n)),
    ]
    m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    m(ones(t)).sum().backward()
    for h in handles:
        h.remove()
    m(ones(t)).sum().backward()
    t.nn.Linear(1, 1)
    return seen


# State


def hooks_of_state(t: Any) -> Any:
    m, seen = t.nn.Sequential(linear(t)), []

    def before_loading(m: Any, state: Any, prefix: str, meta: Any, strict: bool, *lists: Any
                       ) -> None:
        state.pop(prefix + "more", None)
        seen.append((prefix, strict, dict(meta)))

    m[0].register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    m[0].register_state_dict_post_hook(
        lambda m, state, prefix, meta: state.update({prefix + "more": t.ones(1)}))
    m[0].register_load_state_dict_pre_hook(before_loading)
    m.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(map(list, keys))))
    state = m.state_dict()
    seen += [list(state), {k: dict(v) for k, v in state._metadata.items()}]
    seen.append(str(m.load_state_dict(state)))
    keys = m.load_state_dict({"0.weight": t.ones(2, 2)}, strict=False)
    return seen, list(keys), m[0].weight


def _wrong_state(change: Callable[[Any, Any], None]) -> Case:
    def case(t: Any) -> Any:
        state = dict(linear(t).state_dict())
        change(t, state)
        t.nn.Linear(2, 2).load_state_dict(state)

    return case


def extra_state(t: Any) -> Any:
    class Counts(t.nn.Module):
        n = 3

        def get_extra_state(self) -> Any:
            return {"n": self.n}

        def set_extra_state(self, state: Any) -> None:
            self.n = state["n"]

    a, b = t.nn.Sequential(Counts()), t.nn.Sequential(Counts())
    a[0].n = 9
    state = a.state_dict()
    b.load_state_dict(state)
    return list(state), b[0].n, list(b.load_state_dict({}, strict=False))


def assigned_state(t: Any) -> Any:
    m, w = linear(t), t.ones(2, 2, dtype=t.float64)
    m.load_state_dict({"weight": w, "bias": t.zeros(2, dtype=t.float64)}, assign=True)
    m.weight.data.add_(1)
    return m.weight, w, m.weight.requires_grad, isinstance(m.weight, t.nn.Parameter)


def non_persistent_buffers(t: Any) -> Any:
    m = linear(t)
    m.register_buffer("z", t.ones(1), persistent=False)
    m.z = t.zeros(2)
    found = [list(m.state_dict()), [n for n, _ in m.named_buffers()]]
    m.z = t.nn.Parameter(t.ones(1))
    m.q = t.nn.Buffer(t.ones(1), persistent=False)
    return found, list(m.state_dict()), [n for n, _ in m.named_buffers()]


# Attributes, traversal, conversion


def refused_attributes(t: Any) -> Any:
    class Early(t.nn.Module):
        def __init__(self) -> None:
            self.w = t.nn.Parameter(t.ones(1))

    m, nn = linear(t), t.nn
    return [_outcome(f) for f in (
        lambda: setattr(m, "weight", t.ones(2, 2)), lambda: m.register_parameter("a.b", None),
        lambda: m.register_parameter("", None), lambda: m.register_buffer("bias", t.ones(1)),
        lambda: m.register_parameter("forward", nn.Parameter(t.ones(1))),
        lambda: m.register_buffer("q", 3), lambda: m.add_module("k", 3),
        lambda: setattr(m, "child", nn.ReLU()), lambda: setattr(m, "child", 3),
        lambda: setattr(m, "child", None), lambda: m.to(t.int32), lambda: m.train("x"),
        lambda: m.get_parameter("nope"), lambda: m.get_submodule("nope.x"),
        lambda: m.get_buffer("bias"), lambda: m.nothing, lambda: delattr(m, "nothing"), Early,
        lambda: nn.Module()(1), lambda: nn.ModuleList()(1), lambda: nn.Linear(2, 2, 3, 4, 5, 6, 7),
        lambda: nn.ReLU(1, 2), lambda: nn.Hardtanh(1.0, 1.0), lambda: nn.Dropout(1.5),
        lambda: nn.MultiheadAttention(3, 2), lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(3, 3, 3, padding="odd"), lambda: nn.Conv2d(3, 3, 3, padding_mode="odd"),
        lambda: nn.Embedding(2, 2, padding_idx=5), lambda: nn.GroupNorm(2, 3),
        lambda: nn.BatchNorm2d(2)(t.ones(2, 2)), lambda: nn.Unflatten(1, 3),
        lambda: nn.FractionalMaxPool2d(2), lambda: nn.MultiMarginLoss(p=3),
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [5]), lambda: nn.Bilinear(0, 1, 1),
    )], repr(m)


def shared_members(t: Any) -> Any:
    a, b = t.nn.Linear(2, 2), t.nn.Linear(2, 2)
    b.weight = a.weight
    m = t.nn.Sequential(a, b, a)
    return ([n for n, _ in m.named_parameters()], list(m.state_dict()), len(list(m.children())),
            [n for n, _ in m.named_parameters(remove_duplicate=False)],
            [n for n, _ in m.named_modules()],
            [n for n, _ in m.named_modules(remove_duplicate=False)])


def conversions(t: Any) -> Any:
    m, seen = t.nn.BatchNorm1d(2), []
    for change in (lambda: m.double(), lambda: m.to(t.float16), lambda: m.to(t.ones(1))):
        change()
        seen.append([str(v.dtype).split(".")[-1] for v in m.state_dict().values()])
    line = linear(t)
    line(t.ones(1, 2)).sum().backward()
    line.double()
    seen.append(str(line.weight.grad.dtype).split(".")[-1])
    line.zero_grad()
    line.requires_grad_(False)
    s = t.nn.Sequential(t.nn.Sequential(t.nn.Linear(1, 1)))
    s.set_submodule("0.0", t.nn.ReLU())
    return seen, line.weight.grad is None, line.weight.requires_grad, repr(s)


def containers(t: Any) -> Any:
    nn = t.nn
    s = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3))
    more = [s + nn.Sequential(nn.Tanh()), s * 2, s[1:]]
    s.insert(1, nn.Tanh())
    s.pop(0)
    s.extend([nn.ReLU()])
    m = nn.ModuleList([nn.ReLU() for _ in range(3)])
    m += [nn.Tanh()]
    m.insert(0, nn.Linear(1, 1))
    del m[1]
    more += [m + [nn.ReLU()], m[1:]]
    m[-1] = nn.ELU()
    d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    d.update([("c", nn.ELU())])
    d.pop("a")
    p = nn.ParameterList([t.ones(2), nn.Parameter(t.zeros(1, 3)), "x"])
    p.append(t.ones(1))
    p += [3]
    q = nn.ParameterDict({"a": t.ones(2), "b": 3})
    q["c"] = nn.Parameter(t.ones(1))
    q.setdefault("d")
    both = q | nn.ParameterDict({"z": t.ones(1)})
    made = [s, *more, m, d, p, p[1:], q, both]
    return ([repr(x) for x in made], [len(x) for x in made], list(p.state_dict()),
            list(both.state_dict()), list(q.keys()), "a" in q)


# Layers that PyTorch's table of modules lacks, with gradients; all are one program

_LAYERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], tuple[Any, ...]]]] = {
    "EmbeddingBag": (lambda n: n.EmbeddingBag(5, 3, mode="sum", padding_idx=1), lambda t: (
        t.tensor([1, 2, 4, 3]), t.tensor([0, 2]))),
    "Unfold": (lambda n: n.Unfold(2, stride=2), lambda t: (t.rand(1, 2, 4, 4),)),
    "Fold": (lambda n: n.Fold((3, 3), 2), lambda t: (t.rand(1, 8, 4),)),
    "Dropout": (lambda n: n.Dropout().eval(), lambda t: (t.rand(3),)),
    "AlphaDropout": (lambda n: n.AlphaDropout().eval(), lambda t: (t.rand(3),)),
    "FeatureAlphaDropout": (lambda n: n.FeatureAlphaDropout().eval(), lambda t: (t.rand(1, 3),)),
    "Dropout1d": (lambda n: n.Dropout1d(0.0), lambda t: (t.rand(2, 3, 4),)),
    "PixelShuffle": (lambda n: n.PixelShuffle(2), lambda t: (t.rand(1, 8, 2, 2),)),
    "PixelUnshuffle": (lambda n: n.PixelUnshuffle(2), lambda t: (t.rand(1, 2, 4, 4),)),
    "ChannelShuffle": (lambda n: n.ChannelShuffle(2), lambda t: (t.rand(1, 4, 2, 2),)),
    "CosineSimilarity": (lambda n: n.CosineSimilarity(), lambda t: (t.rand(3, 4), t.rand(3, 4))),
    "PairwiseDistance": (lambda n: n.PairwiseDistance(3.0, keepdim=True), lambda t: (
        t.rand(3, 4), t.rand(3, 4))),
    "Upsample": (lambda n: n.Upsample(scale_factor=2, mode="bilinear"), lambda t: (
        t.rand(1, 2, 3, 3),)),
    "UpsamplingNearest2d": (lambda n: n.UpsamplingNearest2d(5), lambda t: (t.rand(1, 2, 3, 3),)),
    "UpsamplingBilinear2d": (lambda n: n.UpsamplingBilinear2d(scale_factor=2), lambda t: (
        t.rand(1, 2, 3, 3),)),
    "MaxUnpool2d": (lambda n: n.MaxUnpool2d(2), lambda t: (
        t.rand(1, 1, 2, 2), t.tensor([[[[0, 3], [8, 15]]]]))),
    "TripletMarginLoss": (lambda n: n.TripletMarginLoss(swap=True), lambda t: (
        t.rand(3, 4), t.rand(3, 4), t.rand(3, 4))),
    "TripletMarginWithDistanceLoss": (lambda n: n.TripletMarginWithDistanceLoss(margin=2.0),
                                      lambda t: (t.rand(3, 4), t.rand(3, 4), t.rand(3, 4))),
    # the derivative that PyTorch writes for it is an approximation for large alpha
    "CrossMapLRN2d": (lambda n: n.CrossMapLRN2d(3, 1e-6), lambda t: (t.rand(1, 5, 2, 2),)),
    "RReLU": (lambda n: n.RReLU().eval(), lambda t: (t.rand(3) - 0.5,)),
    "Hardsigmoid": (lambda n: n.Hardsigmoid(), lambda t: (t.rand(3),)),
    "Flatten": (lambda n: n.Flatten(0), lambda t: (t.rand(2, 3),)),
    "Unflatten": (lambda n: n.Unflatten(1, (2, 2)), lambda t: (t.rand(2, 4),)),
    "Identity": (lambda n: n.Identity(3, unused=4), lambda t: (t.rand(2),)),
    "NLLLoss2d": (lambda n: n.NLLLoss2d(), lambda t: (
        t.rand(1, 3, 2, 2), t.tensor([[[0, 2], [1, 1]]]))),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda n: n.AdaptiveLogSoftmaxWithLoss(4, 9, [2, 5], head_bias=True),
        lambda t: (t.rand(3, 4), t.tensor([1, 4, 8]))),
    "Softmax2d": (lambda n: n.Softmax2d(), lambda t: (t.rand(3, 2, 2),)),
    "TransformerDecoder": (lambda n: n.TransformerDecoder(
        n.TransformerDecoderLayer(4, 2, 8, 0.0), 2, n.LayerNorm(4)), lambda t: (
        t.rand(2, 1, 4), t.rand(3, 1, 4))),
}


def other_layers(t: Any) -> Any:
    found = []
    for make, inputs in _LAYERS.values():
        m = make(t.nn)
        given = [known(t, x, i) for i, x in enumerate(inputs(t))]
        with t.no_grad():
            for i, p in enumerate(m.parameters()):
                p.copy_(known(t, p, i + 5).detach())
        result = m(*given)
        outputs = list(result) if isinstance(result, tuple) else [result]
        sum((y * y).sum() for y in outputs if y.requires_grad).backward()
        found.append([outputs, [x.grad for x in given if x.requires_grad],
                      [p.grad for p in m.parameters()], repr(m)])
    return found


def subclasses_of_layers(t: Any) -> Any:
    """A program's classes may annotate what they like, and call the older constructors."""
    class Annotated(t.nn.LeakyReLU):  # type: ignore[misc, name-defined]
        calls: int = 3

    class Halved(t.nn.Dropout):  # type: ignore[misc, name-defined]
        def forward(self, input: Any) -> Any:
            return super().forward(input) / 2

    class Distance(t.nn.modules.loss._Loss):  # type: ignore[misc, name-defined]
        eps: float

        def __init__(self, eps: float, size_average: Any = None, reduce: Any = None) -> None:
            super().__init__(size_average, reduce, "sum")
            self.eps = eps

        def forward(self, input: Any, target: Any) -> Any:
            return t.nn.functional.l1_loss(input, target, reduction=self.reduction) + self.eps

    class Weighted(t.nn.modules.loss._WeightedLoss):  # type: ignore[misc, name-defined]
        pass

    x = t.tensor([-1.0, 2.0])
    weighted = Weighted(t.ones(2), reduction="none")
    return [repr(Annotated(0.5, True)), Annotated.calls, Annotated(0.5)(x), Halved(0.5).eval()(x),
            Distance(0.25)(x, x + 1), list(weighted.state_dict()), weighted.reduction]


def lazy_layers_after_a_state(t: Any) -> Any:
    """What a state dict has given its shapes keeps its values at the first input."""
    found = []
    for lazy, whole, x in (
        (t.nn.LazyLinear(3), t.nn.Linear(4, 3), t.ones(2, 4)),
        (t.nn.LazyConv1d(3, 2, bias=False), t.nn.Conv1d(4, 3, 2, bias=False), t.ones(1, 4, 5)),
        (t.nn.LazyConvTranspose1d(3, 2), t.nn.ConvTranspose1d(4, 3, 2), t.ones(1, 4, 5)),
        (t.nn.LazyBatchNorm1d(), t.nn.BatchNorm1d(4), t.ones(2, 4)),
    ):
        with t.no_grad():
            for i, p in enumerate(whole.parameters()):
                p.copy_(known(t, p, i).detach())
        before = [type(lazy).__name__, list(lazy.state_dict()), repr(lazy)]
        lazy.load_state_dict(whole.state_dict())
        found.append([before, lazy.eval()(x), type(lazy).__name__, lazy.state_dict()])
    return found


def known(t: Any, x: Any, seed: int) -> Any:
    """Known values in place of random ones, with a gradient; integers stay."""
    if not x.is_floating_point():
        return x
    values = np.random.default_rng(seed).uniform(-1, 1, tuple(x.shape)).astype(np.float32)
    return t.tensor(values, requires_grad=True)


MACHINERY: dict[str, Case] = {
    **{f.__name__: f for f in (
        full_backward, gradients_replaced, hook_without_input_gradient,
        several_inputs_and_outputs, hook_returns_too_many, hook_and_second_derivative,
        hooks_with_keywords, order_of_hooks, hooks_called_in_any_case, hooks_of_all_modules,
        hooks_of_state, extra_state, assigned_state, non_persistent_buffers, refused_attributes,
        shared_members, conversions, containers,
        other_layers, subclasses_of_layers, lazy_layers_after_a_state)},
    "a name is missing": _wrong_state(lambda t, s: s.pop("bias")),
    "a name is unknown": _wrong_state(lambda t, s: s.update({"x.y": t.ones(1)})),
    "another shape": _wrong_state(lambda t, s: s.update(bias=t.ones(3))),
    "no tensor": _wrong_state(lambda t, s: s.update(bias=[1.0])),
}
