"""A product that a code generator does not take, beside others that it does."""

import sys
import time

import numpy

import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.program.stream import Leaf

FAULTY = sys.argv[1:] == ["faulty"]


class Products(codegen.Generator):
    """Products of two matrices of float32, by NumPy."""

    name = "products"
    version = "1"
    merges = False

    def supports(self, call):
        if call.op != "matmul":
            return codegen.No(f"{call.op} is no product")
        if any(len(t.shape) != 2 for t in call.operands):
            return codegen.No("its operands are no matrices")
        return codegen.YES

    def build(self, region):
        (i,) = region.program.structure.instructions

        def run(*arrays):
            x, y = (arrays[o.number] for o in i.operands if isinstance(o, Leaf))
            return numpy.matmul(x, y)

        return codegen.PythonCode(run)


codegen.register(Products())
codegen.use("products")
x = np.asarray(numpy.random.default_rng(0).random((8, 64, 256), dtype=numpy.float32))
w = np.asarray(numpy.random.default_rng(1).random((256, 256), dtype=numpy.float32) / 128)
total = 0.0
started = time.perf_counter()
for n in range(40):
    h = np.maximum(x.reshape(512, 256) @ w, 0) * (n / 40)
    if FAULTY:
        y = h.reshape(8, 64, 256) @ w  # fault
    else:
        y = h @ w
    total += float(y.mean())
print(f"{total:.2f}", f"{time.perf_counter() - started:.3f}")
