"""lazyloom_nn.h beside the torch-like frontend, files between the two, and the examples of C."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_torch as torch
from lazyloom_capi import build, header
from lazyloom_torch.safetensors import load_file, save_file

from .compilers import C99, HERE, STRICT, Compile

F = torch.nn.functional
EXAMPLES = HERE.parent.parent / "examples" / "c"
TEXT = HERE.parent.parent / "examples" / "data" / "text" / "coriolanus.txt"

Networks = Callable[..., str]


@pytest.fixture(scope="module")
def at_once(bare_environment: dict[str, str]) -> dict[str, str]:
    """:func:`bare_environment` where nothing waits to be compiled as a whole."""
    return {**bare_environment, "LAZYLOOM_REPRODUCIBLE": "0"}


@pytest.fixture(scope="module")
def networks(compiled: Compile, at_once: dict[str, str]) -> Networks:
    """What ``networks.c`` prints, asked something."""
    program = str(compiled(HERE / "networks.c"))

    def ask(*arguments: object) -> str:
        done = subprocess.run(
            [program, *map(str, arguments)], env=at_once, capture_output=True, text=True,
            timeout=120)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return ask


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Each tensor within 1e-6 of the largest of its elements."""
    for name, value in wanted.items():
        a, b = found[name].numpy(), value.detach().numpy()
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        assert np.abs(a - b).max() <= 1e-6 * max(1, np.abs(b).max()), name
    assert set(found) == set(wanted)


def drawn(*shape: int) -> Any:
    return torch.randn(*shape)


def the_layers() -> Any:
    """The modules of ``layers`` in networks.c, with values of their own."""
    nn = torch.nn
    model = nn.ModuleDict({
        "linear": nn.Linear(5, 3), "plain": nn.Linear(5, 3, bias=False),
        "conv2": nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 2), (1, 2), groups=2),
        "conv1": nn.Conv1d(4, 3, 4, bias=False), "embedding": nn.Embedding(7, 5),
        "layer": nn.LayerNorm(5), "rms": nn.RMSNorm(5, eps=1e-6), "batch": nn.BatchNorm2d(4),
        "attention": nn.MultiheadAttention(8, 2, batch_first=True)})
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.3 * torch.randn(p.shape))
        model["batch"].running_var.copy_(torch.rand(4) + 0.5)
    return model


@pytest.mark.op_by_op
def test_layers_equal_those_of_the_torch_like_frontend(networks: Networks, tmp_path: Path) -> None:
    torch.manual_seed(11)
    model = the_layers()
    x = {
        "rows": drawn(2, 4, 5), "image": drawn(2, 4, 6, 5), "signal": drawn(2, 4, 9),
        "numbers": torch.tensor([[0, 6, 3], [3, 3, 1]]), "sequence": drawn(2, 5, 8),
        "q": drawn(2, 3, 4, 8), "k": drawn(2, 3, 6, 8), "v": drawn(2, 3, 6, 7),
        "mask": torch.tensor(np.tri(4, 6, 1, dtype=bool)), "scores": drawn(3, 5, 2),
        "labels": torch.tensor([[0, 4], [-100, 2], [1, 1]])}
    save_file({**model.state_dict(), **{f"x.{name}": v for name, v in x.items()}},
              tmp_path / "in.safetensors")
    assert networks("layers", tmp_path / "in.safetensors", tmp_path / "out.safetensors")

    wide = torch.nn.MultiheadAttention(8, 4, batch_first=True)
    wide.load_state_dict(model["attention"].state_dict())
    seen = torch.nn.Transformer.generate_square_subsequent_mask(5)
    found = {name: model[name](x["rows"]) for name in ("linear", "plain", "layer", "rms")}
    found["conv2"] = model["conv2"](x["image"])
    found["batch.evaluated"] = model["batch"].eval()(x["image"])
    found["batch"] = model["batch"].train()(x["image"])
    found["conv1"] = model["conv1"](x["signal"])
    found["embedding"] = model["embedding"](x["numbers"])
    for name, module, mask in (
        ("attention", model["attention"], seen), ("attention.whole", wide, None)
    ):
        found[name] = module(*[x["sequence"]] * 3, attn_mask=mask, need_weights=False)[0]
    found["attention.masked"] = F.scaled_dot_product_attention(x["q"], x["k"], x["v"], x["mask"])
    sum((y * y).mean() for y in found.values()).backward()
    for p, q in zip(model["attention"].parameters(), wide.parameters(), strict=True):
        p.grad += q.grad
    found.update({f"gradient.{n}": p.grad for n, p in model.named_parameters()})
    found.update({f"state.{n}": b for n, b in model.named_buffers()})
    found["cross_entropy"] = F.cross_entropy(x["scores"], x["labels"])
    out = load_file(tmp_path / "out.safetensors")
    dropped = out.pop("dropout").numpy()
    same(out, found)
    rows = x["rows"].numpy()
    assert np.all((dropped == 0) | (dropped == 2 * rows)) and 0 < (dropped == 0).sum() < rows.size


@pytest.mark.op_by_op
def test_optimizers_equal_those_of_the_torch_like_frontend(
    networks: Networks, tmp_path: Path
) -> None:
    torch.manual_seed(12)
    given = {"p": drawn(3, 4), "target": drawn(3, 4), "scale": drawn(3, 4),
             "rate": torch.tensor(0.3, dtype=torch.float64)}  # fmt: skip
    save_file(given, tmp_path / "in.safetensors")
    assert networks("optimizers", tmp_path / "in.safetensors", tmp_path / "out.safetensors")

    optim, wanted = torch.optim, {}
    adamw = {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}
    for name, rule, options in (
        ("plain", optim.SGD, {"lr": 0.1}),
        ("momentum", optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
        ("nesterov", optim.SGD, {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
        ("adamw", optim.AdamW, adamw), ("scheduled", optim.AdamW, adamw),
    ):
        p = torch.nn.Parameter(given["p"].clone())
        optimizer = rule([p], **options)
        for k in range(3):
            ((p - given["target"]) ** 2 * given["scale"]).sum().backward()
            if name == "scheduled" and k:
                optimizer.param_groups[0]["lr"] = [0.3, 0.125][k - 1]
            optimizer.step()
            optimizer.zero_grad()
        wanted[f"{name}.p"] = p
        for kind, value in optimizer.state[p].items():
            place = "step" if kind == "step" else f"p.{kind}"
            wanted[f"{name}.optimizer.{place}"] = value
    same(load_file(tmp_path / "out.safetensors"), wanted)


@pytest.mark.op_by_op
def test_first_values_are_those_of_the_torch_like_frontend(
    networks: Networks, tmp_path: Path
) -> None:
    """Of the same seed, to the bit."""
    assert networks("values", tmp_path / "out.safetensors")
    init, state = torch.nn.init, torch.get_rng_state()
    torch.manual_seed(0x123456789ABCDEF)
    x = {n: torch.zeros(6, 4, 3) for n in (
        "uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform",
        "kaiming_normal", "constant", "host")}  # fmt: skip
    init.uniform_(x["uniform"], -0.25, 2)
    init.normal_(x["normal"], 1, 0.5)
    init.xavier_uniform_(x["xavier_uniform"], 5 / 3)
    init.xavier_normal_(x["xavier_normal"])
    init.kaiming_uniform_(x["kaiming_uniform"], 0.2)
    init.kaiming_normal_(x["kaiming_normal"], mode="fan_out", nonlinearity="relu")
    init.constant_(x["constant"], 0.75)
    x["host"][0, 0, :2] = torch.tensor([1.0, 2.0])
    model = torch.nn.ModuleDict({
        "linear": torch.nn.Linear(5, 3), "attention": torch.nn.MultiheadAttention(8, 2)})
    torch.set_rng_state(state)
    found = load_file(tmp_path / "out.safetensors")
    wanted = {**x, **model.state_dict()}
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        assert found[name].numpy().tobytes() == value.numpy().tobytes(), name


def test_errors_name_the_parameter(networks: Networks, tmp_path: Path) -> None:
    assert networks("errors", tmp_path) == "networks work\n"
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
def test_captured_steps_give_what_recorded_ones_do(
    compiled: Compile, bare_environment: dict[str, str]
) -> None:
    """With dropout, running moments and a rate that changes; to the bit, parameters and state."""
    done = subprocess.run(
        [str(compiled(HERE / "networks.c")), "captures"], env=bare_environment,
        capture_output=True, text=True, timeout=120)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


# ---- files -------------------------------------------------------------------------------------


def file_of(header: str | bytes, data: bytes = b"", length: int | None = None) -> bytes:
    head = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(head) if length is None else length) + head + data


def entry(name: str, shape: str, begin: int, end: int, dtype: str = "U8") -> str:
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


BROKEN: list[tuple[bytes, str]] = [
    (b"", "it has 0 bytes"),
    (b"1234567", "it has 7 bytes"),
    (file_of("{}", length=3), "a header of 3 bytes in a file of 10"),
    (file_of("{}", length=2**64 - 1), "a header of 18446744073709551615 bytes"),
    (file_of(""), "does not begin with a brace"),
    (file_of(" {}"), "does not begin with a brace"),
    (file_of("[]"), "does not begin with a brace"),
    (file_of("{}\0"), "nothing after the header's object"),
    (file_of("{"), "a string"),
    (file_of('{"a'), "the end of a string"),
    (file_of('{"a":1}'), "tensor 'a': expected an object of JSON"),
    (file_of('{"a":{}}'), "tensor 'a': expected a string"),
    (file_of('{"a\n":{}}'), "no control character"),
    (file_of(b'{"\xff":{}}'), "UTF-8"),
    (file_of(r'{"\ud800":{}}'), "second half of a surrogate pair"),
    (file_of(r'{"\udc00":{}}'), "first half of a surrogate pair"),
    (file_of(r'{"\u00":{}}'), "four hexadecimal digits"),
    (file_of(r'{"\x":{}}'), "an escape of JSON"),
    (file_of(r'{"\u0000":{}}'), "without a zero byte"),
    (file_of('{"a":{"dtype":"U8","shape":[1]}}', b"x"), "tensor 'a': expected"),
    (file_of('{"a":{"dtype":"U8","dtype":"U8"}}', b"x"), "once each"),
    (file_of('{"a":{"dtype":"U8","size":1}}', b"x"), "once each"),
    (file_of("{" + entry("a", "[1]", 0, 1, "F8_E4M3") + "}", b"x"), "as dtype one of"),
    (file_of("{" + entry("a", "[-1]", 0, 1) + "}", b"x"), "an integer, 0 or more"),
    (file_of("{" + entry("a", "[01]", 0, 1) + "}", b"x"), "an integer, 0 or more"),
    (file_of("{" + entry("a", "[1.0]", 0, 1) + "}", b"x"), "the end of a list"),
    (file_of("{" + entry("a", "[1,]", 0, 1) + "}", b"x"), "an integer, 0 or more"),
    (file_of("{" + entry("a", "[9223372036854775808]", 0, 1) + "}", b"x"), "below 2^63"),
    (file_of("{" + entry("a", "[2]", 0, 1) + "}", b"x"), "'a' of shape (2,), uint8, has the bytes "
     "from 0 to 1 of 1"),
    (file_of("{" + entry("a", "[1]", 1, 0) + "}", b"x"), "the bytes from 1 to 0"),
    (file_of("{" + entry("a", "[2]", 0, 2) + "}", b"x"), "the bytes from 0 to 2 of 1"),
    (file_of("{" + entry("a", "[4294967296,4294967296,4]", 0, 0) + "}"), "'a' of shape (42949672"),
    (file_of("{" + entry("a", "[1]", 0, 1) + "}", b"xy"), "2 bytes of data, expected 1"),
    (file_of("{" + entry("a", "[1]", 1, 2) + "}", b"xy"), "'a' begins at byte 1 of the data"),
    (file_of("{" + entry("a", "[2]", 0, 2) + "," + entry("b", "[2]", 1, 3) + "}", b"xyz"),
     "'b' begins at byte 1 of the data, expected 2"),
    (file_of("{" + entry("a", "[1]", 0, 1) + "," + entry("b", "[1]", 2, 3) + "}", b"xyz"),
     "'b' begins at byte 2 of the data, expected 1"),
    (file_of("{" + entry("a", "[1]", 0, 1) + "," + entry("a", "[1]", 1, 2) + "}", b"xy"),
     "'a' stands in its header twice"),
    (file_of("{" + entry("a", "[1]", 0, 1) + ",}", b"x"), "a string"),
    (file_of('{"__metadata__":{"a":1}}'), "a string"),
    (file_of('{"__metadata__":{"a":"1","a":"2"}}'), "each name of the metadata once"),
    (file_of('{"__metadata__":{},"__metadata__":{}}'), "metadata once"),
]  # fmt: skip


def well_made() -> dict[str, Any]:
    """Tensors of every dtype that files have, empty ones, and names that need escapes."""
    kinds = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
             "float16", "bfloat16", "float32", "float64", "complex64")  # fmt: skip
    numbers = torch.tensor([[0, 1, 2], [3, 4, 5]])
    found = {kind: numbers.to(getattr(torch, kind)) for kind in kinds}
    found.update({
        'a "quoted"\\\n\t\x01name': torch.zeros(()), "größe ✓ 🧵": torch.ones(1),
        "empty": torch.zeros(3, 0, 2), "nothing": torch.zeros(0)})  # fmt: skip
    return found


def test_files_that_were_read_are_written_as_they_were(networks: Networks, tmp_path: Path) -> None:
    """The bytes are those of the frontend's file."""
    for number, (tensors, metadata) in enumerate((
        (well_made(), {"a": "1", 'b"': "\u00e9\n"}), ({}, None), ({"x": torch.ones(2)}, None),
    )):  # fmt: skip
        first, second = tmp_path / f"{number}.first", tmp_path / f"{number}.second"
        save_file(tensors, first, metadata)
        assert networks("copy", first, second) == "networks work\n"
        assert first.read_bytes() == second.read_bytes()


def written(folder: Path) -> list[tuple[Path, str]]:
    found = []
    for number, (data, message) in enumerate(BROKEN):
        path = folder / f"{number}.safetensors"
        path.write_bytes(data)
        found.append((path, message))
    good = folder / "good.safetensors"
    escapes = r'{"\u00e9\ud83e\uddf5" : ' + entry("", "[ 2 , 0 ]", 0, 0).partition(":")[2] + " }\n"
    good.write_bytes(file_of(escapes))
    return [*found, (folder / "missing", "cannot be opened"), (good, "1 tensors")]


def test_broken_files_are_errors_that_say_what_is_wrong(
    networks: Networks, tmp_path: Path
) -> None:
    files = written(tmp_path)
    said = networks("headers", *(path for path, _ in files)).splitlines()
    for line, (path, message) in zip(said, files, strict=True):
        assert message in line
        assert str(path) in line or message == "1 tensors"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", [
    "gcc", pytest.param("clang", marks=pytest.mark.thorough)])
def test_the_layer_under_sanitizers(
    compiler: str, tmp_path: Path, at_once: dict[str, str]
) -> None:
    """Broken files, and a good one with bytes changed: no read beyond memory, no leak."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = tmp_path / "networks"
    done = subprocess.run(
        [compiler, "-std=c99", *STRICT, "-g", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=all", str(HERE / "networks.c"), "-o", str(program),
         *build.cflags(), *build.libs()], capture_output=True, text=True)  # fmt: skip
    if done.returncode and "sanitize" in done.stderr.lower() + "asan" * ("asan" in done.stderr):
        pytest.skip(f"{compiler} has no sanitizers: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    good = tmp_path / "good"
    save_file({"a": torch.ones(2, 3), 'b"\n': torch.zeros(4)}, good, {"k": "v", "l": "w"})
    for arguments in (["headers", *(str(p) for p, _ in written(tmp_path))],
                      ["changed", str(good), str(tmp_path / "changed")]):
        done = subprocess.run([str(program), *arguments], capture_output=True, text=True,
                              timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
    opened, of = (int(n) for n in done.stdout.split()[:3:2])
    assert 0 < opened < of == 1000
    # Python's own memory is not all given back
    done = subprocess.run(
        [str(program), "errors", str(tmp_path)], capture_output=True, text=True, timeout=120,
        env={**at_once, "ASAN_OPTIONS": "detect_leaks=0"})  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


# ---- the headers, and the examples -------------------------------------------------------------


def public() -> list[str]:
    """The functions of the layer, from its headers."""
    text = "".join((header.include_dir() / f"lazyloom_{part}.h").read_text()
                   for part in ("nn", "optimizers", "parameters", "safetensors", "support"))
    return re.findall(r"^static inline [^;{(]*?\b(loom_\w*[a-z])\(", text, flags=re.M)


def test_every_function_is_described_and_called() -> None:
    page = (HERE.parent.parent / "docs" / "c_nn.md").read_text()
    program = (HERE / "networks.c").read_text()
    names = public()
    assert len(names) >= 50 and "loom_nn_attention" in names and "loom_safetensors_find" in names
    assert not [n for n in names if f"`{n}" not in page]
    others = "".join(p.read_text() for p in EXAMPLES.glob("*.[ch]"))
    assert not [n for n in names if not re.search(rf"\b{n}\(", program + others)]


def test_what_fails_notes_the_line_of_the_caller() -> None:
    """Each function that returns a status has a macro, and none is called by that in the header."""
    text = "".join((header.include_dir() / f"lazyloom_{part}.h").read_text()
                   for part in ("nn", "optimizers", "parameters", "safetensors"))
    checked = re.findall(r"^static inline LOOM_CHECK loom_status (loom_\w*[a-z])\(", text, re.M)
    assert len(checked) >= 35
    for name in checked:
        assert f"#define {name}(...) (LOOM_HERE, {name}(__VA_ARGS__))" in text


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_layer_compiles_in_every_standard(
    compiler: str, request: pytest.FixtureRequest
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = (HERE / "networks.c").read_text()
    standards = ["c99", "c2x", "c++11", "c++2b"]
    if request.config.getoption("--thorough"):
        standards += ["c11", "c17", "c++14", "c++17", "c++20"]
    for standard in standards:
        language = "c++" if "+" in standard else "c"
        done = subprocess.run(
            [compiler, f"-x{language}", f"-std={standard}", *STRICT, *build.cflags(), f"-I{HERE}",
             "-fsyntax-only", "-"], input=source, capture_output=True, text=True)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), standard


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.c")), ids=lambda p: p.stem)
def test_examples_are_cplusplus_too(path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    done = subprocess.run(
        ["c++", "-xc++", "-std=c++11", *STRICT, *build.cflags(), "-fsyntax-only", str(path)],
        capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def example(
    compiled: Compile, environment: dict[str, str], name: str, *arguments: object,
    given: str = "", compiler: str = "cc",
) -> subprocess.CompletedProcess[str]:
    program = compiled(EXAMPLES / f"{name}.c", [compiler, *C99[1:]])
    done = subprocess.run(
        [str(program), *map(str, arguments)], env=environment, input=given, capture_output=True,
        text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_the_first_program(compiled: Compile, at_once: dict[str, str]) -> None:
    done = example(compiled, at_once, "first")
    assert done.stdout.splitlines()[-1] == "y = 2.000 x + 1.000"


def test_digits(compiled: Compile, at_once: dict[str, str], tmp_path: Path) -> None:
    weights = tmp_path / "weights.safetensors"
    done = example(compiled, at_once, "digits", EXAMPLES.parent / "data" / "digits", 4,
                   weights)
    assert float(done.stdout.split()[-1]) >= 0.9
    assert {"fc1.weight", "optimizer.fc3.bias.momentum_buffer"} < set(load_file(weights))


@pytest.fixture(scope="module")
def frontend() -> Any:
    """The module of the examples that has the transformer in the torch-like frontend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        import transformer_torch

    return transformer_torch


@pytest.fixture(scope="module")
def trained(frontend: Any) -> dict[str, Any]:
    """Four steps of the torch-like frontend; a checkpoint after two, and the step's key."""
    from importlib import import_module

    with pytest.MonkeyPatch.context() as patch, ll.options(reproducible=True):
        patch.syspath_prepend(str(EXAMPLES))
        checkpoint = import_module("resume_torch").checkpoint
        state = torch.get_rng_state()
        torch.manual_seed(frontend.SEED)
        text = frontend.Text()
        model = frontend.transformer(torch, len(text.letters))
        torch.set_rng_state(state)
        optimizer = torch.optim.AdamW(model.parameters(), lr=frontend.RATE)
        step = frontend.stepping(torch, model, optimizer, False)
        losses, saved, key = [], {}, ""
        for k in range(4):
            if k == 2:
                saved = {n: t.clone() for n, t in checkpoint(model, optimizer).items()}
            inputs, targets = (torch.tensor(a) for a in text.batch())
            loss = step(inputs, targets)
            key = ll.program_of(loss.value).key
            losses.append(loss.item())
    return {"losses": losses, "saved": saved, "key": key}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["captured", "recorded"])
def test_a_transformer_is_that_of_the_torch_like_frontend(
    how: str, compiled: Compile, bare_environment: dict[str, str], trained: dict[str, Any],
    tmp_path: Path,
) -> None:
    """The same losses to the bit, the same program, and then it writes."""
    report = tmp_path / "report.json"
    # one way by another compiler, which evaluates arguments in another order
    compiler = "clang" if how == "captured" and shutil.which("clang") else "cc"
    done = example(compiled, bare_environment, "transformer", TEXT, 4, "-", report, how,
                   compiler=compiler)
    found = json.loads(report.read_text())
    assert [np.float32(x) for x in found["losses"]] == [np.float32(x) for x in trained["losses"]]
    assert found["step_key"] == trained["key"]
    assert "First Citizen:\n" in done.stdout


@pytest.mark.slow
def test_training_goes_on_from_a_checkpoint_of_the_torch_like_frontend(
    compiled: Compile, bare_environment: dict[str, str], trained: dict[str, Any], tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    save_file(trained["saved"], first, {"batches": "2"})
    done = example(compiled, bare_environment, "resume", first, TEXT, 2, second)
    assert [np.float32(x) for x in done.stdout.split()] == [
        np.float32(x) for x in trained["losses"][2:]]
    after = load_file(second)
    assert set(after) == set(trained["saved"])
    assert after["optimizer.step"].item() == 4


@pytest.mark.slow
def test_a_server_answers_alike_with_any_number_of_threads(
    compiled: Compile, bare_environment: dict[str, str], trained: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    save_file(trained["saved"], path)
    requests = "".join(f"{'MENENIUS: ' * (k % 9)}{k}\n" for k in range(12)) + "\n"
    found = []
    for threads in (1, 4):
        done = example(compiled, bare_environment, "server", path, TEXT, threads, 3, given=requests)
        assert done.stderr.startswith(f"13 requests by {threads} threads: ")
        found.append(sorted(done.stdout.splitlines()))
    assert found[0] == found[1] and len(found[0]) == 13


@pytest.mark.thorough
def test_the_frontends_programs_run(tmp_path: Path) -> None:
    """``resume_torch.py`` and ``transformer_torch.py``, as users call them."""
    for name, arguments in (
        ("transformer_torch", [TEXT, 2, tmp_path / "report.json", "recorded"]),
        ("resume_torch", [tmp_path / "first", tmp_path / "losses.json", 1]),
    ):
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments)],
            capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "losses.json").read_text())) == 1
