"""Calls of every exported function and op with arguments that are wrong in one way or another.

``python -m tests.capi.fuzz SEED ROUNDS`` makes them in its own process and prints each message of a
call that was refused as a defect of the library's (``LOOM_ERROR_INTERNAL``, ``LOOM_ERROR``), which
a caller's mistake never is. Only what a check can tell is tried: sizes that are not those of the
memory given are not, unless nobody can mean them.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import lazyloom as ll
from lazyloom.ops.samples import Sample, samples
from lazyloom_capi import header
from lazyloom_capi.client import Client, Tensor

INTEGERS = (0, 1, -1, 2, 3, -2, 5, 64, 100, 2**31, -(2**31), 2**62, -(2**62), 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324)
TEXTS = (b"", b"none", b"\xff\xfe", b"reduced", b"a" * 1000, b"ij,jk->ik", b"->", b"i.i", b"tanh")
DTYPES = (*range(17), 77, 255, 2**32 - 1)
SHAPES = ((), (0,), (1,), (3,), (2, 3), (3, 2), (0, 2), (2, 2), (2, 3, 4), (2, 3, 4, 5), (1,) * 6)
HANDLES = (0, 1, 2**56, 2**57 + 5, 2**63, 2**64 - 1)
ATTRIBUTE_KINDS = {
    "bool": 1, "int": 2, "float": 3, "str": 4, "dtype": 5, "ints": 6, "floats": 7}
DEFECTS = (1, 102)


class Fuzz:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.client = Client()
        self.ffi, self.lib = self.client.ffi, self.client.lib
        self.callback = self.ffi.callback("loom_function", self.given_function)
        self.heard = self.ffi.callback("loom_ready_function", lambda status, context: None)
        self.tensors = [
            self.client.from_numpy(np.ones(shape, dtype.numpy))
            for shape, dtype in itertools.product(SHAPES, ll.dtypes.ALL)]
        self.samples: dict[str, list[Sample]] = {}
        self.kept: list[Any] = []
        self.defects: dict[str, str] = {}
        self.refused = self.recorded = 0

    def kind(self) -> int:
        return self.random.choice((6, 9, 2**31 - 1, 2**32 - 1))

    def text(self) -> Any:
        self.kept.append(self.ffi.new("char[]", self.random.choice(TEXTS)))
        return self.kept[-1]

    # ---- ops ------------------------------------------------------------------------

    def operand(self, o: Any) -> None:
        """Anything at all in place of an operand."""
        choice = self.random.choice
        kind = choice("ttttthkannnn")
        if kind == "t":
            o.kind, o.tensor = 1, choice(self.tensors).handle.bits
        elif kind == "h":
            o.kind, o.tensor = 1, choice(HANDLES)
        elif kind == "k":
            o.kind = self.kind()
        elif kind == "n":
            o.kind, o.dtype = choice((2, 3, 4, 5)), choice((0, choice(DTYPES)))
            o.integer, o.real, o.imaginary = choice(INTEGERS), choice(REALS), choice(REALS)

    def operands(self, op: Any, sample: Sample) -> tuple[Any, int]:
        count = len(sample.operands) + self.random.choice((0, 0, 0, 0, 0, 0, -1, 1, 3, 70))
        array = self.ffi.new("loom_operand[]", max(count, 1))
        change = self.random.choice((0.0, 0.0, 0.3, 1.0))
        for i in range(max(count, 0)):
            x = sample.operands[i] if i < len(sample.operands) else None
            if self.random.random() < change:
                self.operand(array[i])
            elif x is not None:
                tensor = self.client.from_numpy(x)
                self.kept.append(tensor)
                array[i].kind, array[i].tensor = 1, tensor.handle.bits
        return array, max(count, 0)

    def attribute(self, a: Any, name: str, kind: str) -> None:
        """A value of that kind, or of another."""
        choice = self.random.choice
        self.kept.append(self.ffi.new("char[]", name.encode()))
        a.name = self.kept[-1]
        a.kind = ATTRIBUTE_KINDS[kind] if self.random.random() < 0.9 else choice(
            (*range(8), self.kind()))
        value = a.value
        if a.kind == 1:
            self.ffi.cast("unsigned char *", self.ffi.addressof(a, "value"))[0] = choice((0, 1, 2))
        elif a.kind == 2:
            value.integer = choice(INTEGERS)
        elif a.kind == 3:
            value.real = choice(REALS)
        elif a.kind == 4:
            value.text = choice((self.text(), self.text(), self.ffi.NULL))
        elif a.kind == 5:
            value.dtype = choice(DTYPES)
        elif a.kind in (6, 7):
            a.count = choice((0, 1, 2, 3, 5, 65, 100))
            numbers = [choice(INTEGERS[:8] if a.kind == 6 else REALS) for _ in range(a.count)]
            if a.kind == 6 and self.random.random() < 0.3:
                numbers = [choice(INTEGERS) for _ in numbers]
            self.kept.append(
                self.ffi.new("int64_t[]" if a.kind == 6 else "double[]", numbers or [0]))
            if self.random.random() < 0.1:
                a.value.integers = self.ffi.NULL
            elif a.kind == 6:
                a.value.integers = self.kept[-1]
            else:
                a.value.reals = self.kept[-1]
            if self.random.random() < 0.05:
                a.count = choice((2**20 + 1, 2**21, 2**30, 2**40, 2**64 - 1))

    def attributes(self, op: Any, sample: Sample) -> tuple[Any, int]:
        array = self.ffi.new("loom_attr[]", len(op.attributes) + 2)
        given = dict(sample.attributes)
        known = self.client._attributes(given, self.kept)
        self.kept.append(known)
        count = 0
        for a in op.attributes:
            if a.name in given and self.random.random() < 0.7:
                array[count] = known[list(given).index(a.name)]
            elif self.random.random() < (0.97 if a.required else 0.3):
                self.attribute(array[count], a.name, a.kind)
            else:
                continue
            count += 1
        if self.random.random() < 0.05:
            self.attribute(array[count], self.random.choice(("", "x", "axis")), "int")
            count += 1
        return array, count

    def op(self, name: str) -> None:
        """One call of an op by name."""
        entry = ll.ops.lookup(name)
        if name not in self.samples:
            self.samples[name] = list(itertools.islice(samples(entry), 4))
        sample = self.random.choice(self.samples[name])
        operands, operand_count = self.operands(entry, sample)
        attributes, attribute_count = self.attributes(entry, sample)
        results, count = self.ffi.new("loom_tensor[]", 128), self.ffi.new("size_t *")
        record = self.random.choice((self.lib.loom_apply, self.lib.loom_source))
        capacity = self.random.choice((0, 1, 128, 128, 128))
        status = record(
            name.encode(), operands, operand_count, attributes, attribute_count, results, capacity,
            count)
        self.look(name, status)
        if status == 0:
            for i in range(count[0]):
                # released with the object
                Tensor(self.client, self.ffi.new("loom_tensor *", [results[i].bits])[0])

    # ---- functions -------------------------------------------------------------------

    def arguments(self, prototype: str) -> Iterator[Any]:
        """For each parameter something of its type: pointers to enough, or NULL; any number."""
        given = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"(*\1)", prototype.split("(", 1)[1][:-2])
        # a capacity of characters is taken at its word
        numbers = (0, 1, 2) if "char *buffer" in given else (0, 1, 2, 2**62, 2**64 - 1)
        for parameter in given.split(", ") if given != "void" else ():
            kind, name = parameter.rpartition(" ")[0].strip(), parameter.rpartition(" ")[2]
            if "(*" in parameter:
                yield self.ffi.NULL
            elif "*" in name:
                yield self.pointer(kind.removeprefix("const "), name.count("*"))
            elif kind == "loom_function":
                yield self.random.choice((self.ffi.NULL, self.callback))
            elif kind == "loom_ready_function":
                yield self.random.choice((self.ffi.NULL, self.heard))
            elif kind in (
                "loom_tensor", "loom_buffer", "loom_program", "loom_capture", "loom_linear_map",
                "loom_quantized", "loom_exported",
            ):  # fmt: skip
                bits = self.random.choice(
                    (*HANDLES, self.random.choice(self.tensors).handle.bits))
                yield self.ffi.new(f"{kind} *", [bits])[0]
            elif kind == "size_t":
                yield self.random.choice(numbers)
            elif kind in ("int64_t", "int"):
                yield self.random.choice(INTEGERS if kind == "int64_t" else (0, -1, 7))
            elif kind == "bool":
                yield self.random.choice((False, True))
            else:
                yield self.random.choice((*range(20), 100, 102, 2**31, 2**32 - 1))

    def given_function(
        self, inputs: Any, input_count: int, outputs: Any, output_count: int, context: Any
    ) -> int:
        """A function that a loop records: gives back what it gets, or anything, or fails."""
        for i in range(output_count):
            if input_count and self.random.random() < 0.7:
                outputs[i] = inputs[self.random.randrange(input_count)]
            elif self.random.random() < 0.5:
                outputs[i].bits = self.random.choice(HANDLES)
        return self.random.choice((0, 0, 0, 2, 77))

    def pointer(self, kind: str, depth: int) -> Any:
        """NULL, or memory for as many of a kind as the numbers above that can be meant."""
        if self.random.random() < 0.3 or kind == "loom_error":
            return self.ffi.NULL
        if depth == 2:
            memory = self.ffi.new(f"{kind} *[4]")
        elif kind in ("char", "void"):
            memory = self.ffi.new("char[]", self.random.choice(TEXTS[:4]) + b"\0" * 64)
        else:
            memory = self.ffi.new(f"{kind.removesuffix('const')}[64]")
            if kind == "loom_memory_figures":
                memory[0].size = self.random.choice((self.ffi.sizeof(kind), 8, 0, 2**64 - 1))
            if kind == "loom_quantize_options":
                memory[0].size = self.random.choice((self.ffi.sizeof(kind), 0, 2**64 - 1))
                memory[0].percentile = self.random.choice(REALS)
            if kind == "loom_custom_op":
                memory[0].size = self.random.choice((self.ffi.sizeof(kind), 0, 2**64 - 1))
                for part in ("forward", "vjp", "jvp"):
                    setattr(memory[0], part, self.random.choice((self.ffi.NULL, self.callback)))
            if kind.startswith("char"):
                for i in range(4):
                    memory[i] = self.random.choice((self.ffi.NULL, self.text(), self.text()))
            if kind == "loom_tensor":
                for i in range(4):
                    memory[i].bits = self.random.choice(
                        (*HANDLES, self.random.choice(self.tensors).handle.bits))
        self.kept.append(memory)
        return memory

    def function(self, name: str, prototype: str) -> None:
        """One call of an exported function."""
        arguments = list(self.arguments(prototype))
        if name == "loom_tensors_release":
            # else they would be gone
            arguments[0] = self.ffi.NULL
        status = getattr(self.lib, name)(*arguments)
        if prototype.startswith("loom_status") and name not in (
            "loom_error_status", "loom_set_error",  # what they return was asked for
        ):
            self.look(name, status)

    def look(self, name: str, status: int) -> None:
        if status == 0:
            self.recorded += 1
            return
        self.refused += 1
        message = self.ffi.string(self.lib.loom_error_message()).decode("utf-8", "replace")
        if status in DEFECTS or not message:
            self.defects.setdefault(f"{name} {re.sub('[0-9]+', '#', message)}", message)


#: what would end the program's use of the library, or of a tensor of the list
LEFT_OUT = {
    "loom_shutdown", "loom_initialize", "loom_set_option", "loom_set_source_location",
    "loom_tensor_release", "loom_buffer_release", "loom_program_release", "loom_tensor_retain",
    "loom_capture_release", "loom_linear_map_release", "loom_quantized_release",
    "loom_exported_release",
    # they write a file
    "loom_export", "loom_export_with", "loom_save_repro",
    # a process-wide choice that changes how long programs take
    "loom_codegen_verify", "loom_codegen_segmented",
    # pointers, which no check can tell from others
    "loom_error_take", "loom_error_restore", "loom_error_free", "loom_set_log",
    "loom_tensor_from_dlpack", "loom_tensor_from_dlpack_unversioned",
    # they give memory that the caller is to free
    "loom_tensor_to_dlpack", "loom_tensor_to_dlpack_unversioned",
}  # fmt: skip


def main() -> int:
    faulthandler.enable()
    fuzz = Fuzz(int(sys.argv[1]))
    functions = header.functions(header.text())
    for _ in range(int(sys.argv[2])):
        for name in ll.ops.names():
            fuzz.op(name)
        for name, prototype in functions.items():
            if name not in LEFT_OUT:
                fuzz.function(name, prototype)
        fuzz.kept.clear()
    for name, message in fuzz.defects.items():
        print(f"{name.split()[0]}: {message}")
    print(f"{fuzz.recorded} calls succeeded, {fuzz.refused} were refused")
    return len(fuzz.defects)


def in_a_folder_of_its_own() -> int:
    """:func:`main`, whose texts are names of files, too."""
    with tempfile.TemporaryDirectory(prefix="lazyloom-fuzz-") as folder:
        os.chdir(folder)
        return main()


if __name__ == "__main__":
    sys.exit(in_a_folder_of_its_own())
