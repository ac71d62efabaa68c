// What the layer adds to the C ABI: ownership, methods, errors, callbacks, captures.
"use strict";
const assert = require("assert");
const fs = require("fs");
const os = require("os");
const path = require("path");
const loom = require("..");

const read = (t) => Array.from(t.read());
const errorOf = (f) => {
  try {
    f();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
};

assert.strictEqual(errorOf(() => loom.tensor([1])).status, "LOOM_ERROR_NOT_INITIALIZED");
loom.start();

loom.scope(() => {
  const x = loom.tensor([1, 2, 3]);
  assert.deepStrictEqual(read(loom.multiply(2, x).subtract(1)), [1, 3, 5]);
  assert.deepStrictEqual(read(x.greater_equal(2n)), [0, 1, 1]);
  const total = x.sum({ dtype: "float64", keepdims: true });
  assert.deepStrictEqual([total.shape, total.dtype, total.item()], [[1], "float64", 6]);
  const twice = loom.concatenate([x, x], { axis: 0 });
  assert.deepStrictEqual(read(loom.split(twice, { sizes: [2, 4] })[1]), [3, 1, 2, 3]);
  const [, order] = x.negative().sort_with_indices();
  assert.deepStrictEqual(read(order), [2n, 1n, 0n]);
  assert.deepStrictEqual(read(x.clip(null, 2)), [1, 2, 2]);
  assert.strictEqual(loom.einsum([x, x], { equation: "i,i->" }).item(), 14);
  const grid = loom.tensor([[1, 2], [3, 4]], { dtype: "int64" });
  assert.deepStrictEqual(read(grid.sum({ axes: 0 })), [4n, 6n]);
  assert.deepStrictEqual(read(grid.sum({ axes: [] })), [1n, 2n, 3n, 4n]);
  assert.deepStrictEqual(loom.tensor(7).shape, []);
  const z = loom.tensor(new Float32Array([0, 1]), { dtype: "complex64" });
  assert.deepStrictEqual(read(z.multiply(z)), [-1, 0]);
  x.assign(x.add(1));
  assert.deepStrictEqual(read(x), [2, 3, 4]);
});

loom.scope(() => {
  const x = loom.tensor([1, 2, 3]), y = loom.tensor([1, 2]);
  const error = errorOf(() => x.add(y));
  const line = new Error().stack.match(/layer\.js:(\d+)/)[1];
  assert.deepStrictEqual([error.status, error.op], ["LOOM_ERROR_SHAPE", "add"]);
  assert.strictEqual(error.site, `${__filename}:${Number(line) - 1}`);
  assert.ok(error instanceof loom.LoomError && error.message.startsWith(error.site));
  assert.strictEqual(errorOf(() => x.argmax({ axis: 7 })).argument, "axis");
  assert.match(errorOf(() => x.sum({ axis: 0 })).message, /sum has no attribute axis$/);
  assert.strictEqual(errorOf(() => x.add("1")).status, "LOOM_ERROR_ARGUMENT");
  assert.strictEqual(errorOf(() => loom.tensor([[1, 2], [3]])).status, "LOOM_ERROR_SHAPE");
  assert.strictEqual(errorOf(() => loom.tensor([1], { dtype: "real" })).status,
    "LOOM_ERROR_DTYPE");
  const released = loom.scope(() => ({ within: loom.tensor([1]) }));
  assert.strictEqual(errorOf(() => released.within.read()).status, "LOOM_ERROR_HANDLE");
});

loom.scope(() => {
  const x = loom.tensor([1, 2, 3]).requireGrad();
  assert.deepStrictEqual(read(loom.grad([x.multiply(x).sum()], [x])[0]), [2, 4, 6]);
  assert.ok(!loom.noGrad(() => x.multiply(2).requiresGrad) && x.multiply(2).requiresGrad);
  const zero = loom.tensor(0), xs = x.detach();
  const ends = loom.scan(([total], [element]) => {
    const next = total.add(element);
    return [next, next];
  }, [zero], [xs], 1);
  assert.deepStrictEqual(read(ends[1]), [1, 3, 6]);
  const mine = new Error("mine");
  assert.strictEqual(errorOf(() => loom.scan(() => { throw mine; }, [zero], [xs])), mine);
  const [doubled] = loom.whileLoop(([x]) => x.less(100), ([x]) => [x.multiply(2)],
    [loom.tensor(3)]);
  assert.strictEqual(doubled.item(), 192);
  const [either] = loom.cond(loom.tensor(true, { dtype: "bool" }), ([x]) => [x.add(1)],
    ([x]) => [x.subtract(1)], [loom.tensor(3)]);
  assert.strictEqual(either.item(), 4);
  const same = ([x]) => [x, x];
  const twice = loom.cond(loom.tensor(true, { dtype: "bool" }), same, same, [loom.tensor(3)], 2);
  assert.strictEqual(twice[1].item(), 3);
  const a = loom.tensor([1]), b = loom.tensor([2]);
  const run = loom.capture([a, b], () => [a.multiply(b)]);
  assert.deepStrictEqual(read(run([loom.tensor([5]), b])[0]), [10]);
  run.release();
});

// numbers, elements and what is none
loom.scope(() => {
  const i = loom.tensor([1, 2, 3], { dtype: "int32" });
  assert.deepStrictEqual([i.add(1).dtype, read(i.add(1))], ["int32", [2, 3, 4]]);
  assert.strictEqual(errorOf(() => i.add(1.5)).status, "LOOM_ERROR_DTYPE");
  for (const [values, dtype] of [[[300], "int8"], [[1.5], "int64"], [[NaN], "uint8"], [["1"]],
    [undefined], [[null], "complex64"], [new DataView(new ArrayBuffer(4))]])
    assert.strictEqual(errorOf(() => loom.tensor(values, { dtype })).argument, "values");
  assert.strictEqual(errorOf(() => loom.tensor([1, 2], { shape: [3] })).argument, "shape");
  assert.strictEqual(errorOf(() => loom.tensor([1, [2]])).argument, "values");
  assert.deepStrictEqual(read(loom.tensor(new Float32Array([1, 2]), { dtype: "int16" })), [1, 2]);
  const wide = [2n ** 63n - 1n, -(2n ** 63n)];
  assert.deepStrictEqual(read(loom.tensor(wide, { dtype: "int64" })), wide);
  assert.deepStrictEqual(loom.tensor([[], []]).shape, [2, 0]);
  // float16 and bfloat16 round to the nearest, to even between two, as casts do
  const many = [0, -0, 1, 65504, 65519.99, 65520, 1e-8, 2 ** -25, 2 ** -24, 3 * 2 ** -25, 1 / 3,
    6.1e-5, 2 ** -14, 1 + 2 ** -11, 1 + 3 * 2 ** -11, -1e30, Infinity, -Infinity, NaN, 3.4e38];
  for (const dtype of ["float16", "bfloat16"]) {
    const cast = loom.tensor(many).cast({ dtype }).cast({ dtype: "float32" }).read();
    assert.deepStrictEqual(loom.tensor(many, { dtype }).read(), cast);
  }
  const z = loom.tensor([{ re: 1, im: 2 }, 3], { dtype: "complex64" });
  assert.deepStrictEqual(read(z.multiply({ re: 0, im: 1 })), [-2, 1, 0, 3]);
  assert.deepStrictEqual(z.sum().item(), { re: 4, im: 2 });
  assert.strictEqual(errorOf(() => i.assign(3)).argument, "value");
  assert.strictEqual(errorOf(() => loom.grad(i, [i])).argument, "outputs");
  assert.strictEqual(errorOf(() => i.sum({ keepdims: 1 })).argument, "keepdims");
  assert.strictEqual(errorOf(() => i.argmax({ axis: 0.5 })).argument, "axis");
  assert.match(errorOf(() => i.add(1, 2)).message, /given after the operands \(x, y\)/);
  assert.strictEqual(String(i), "Tensor int32[3]");
});

loom.scope(() => {
  const x = loom.tensor([1, 2, 3]), square = ([x]) => [x.multiply(x).sum()];
  const [[y], pullback] = loom.vjp(square, [x]);
  assert.strictEqual(y.item(), 14);
  assert.deepStrictEqual(read(pullback([loom.tensor(2)])[0]), [4, 8, 12]);
  assert.strictEqual(errorOf(() => pullback([])).argument, "given");
  const one = loom.tensor([1, 0, 0]);
  assert.strictEqual(loom.jvp(square, [x], [one])[1][0].item(), 2);
  assert.strictEqual(loom.linearize(square, [x])[1]([one])[0].item(), 2);
  const [[value, twice], [slope]] = loom.valueAndGrad(
    ([x]) => [x.multiply(x).sum(), x.multiply(2)], [x], { count: 2 });
  assert.deepStrictEqual([value.item(), read(twice), read(slope)], [14, [2, 4, 6], [2, 4, 6]]);
  assert.deepStrictEqual(loom.jacobian(([x]) => [x.sin()], [x])[0][0].shape, [3, 3]);
  assert.deepStrictEqual(read(loom.hessian(square, [x])[0][0][0].sum({ axes: 0 })), [2, 2, 2]);
  const rows = loom.tensor([[1, 2], [3, 4]]);
  const sums = ([row, by]) => row.multiply(by).sum();
  assert.deepStrictEqual(
    read(loom.vmap(sums, [rows, loom.tensor(2)], { inAxes: [1, null] })[0]), [8, 12]);
  const backwards = loom.scan(([c], [e]) => [c.add(e), c], [loom.tensor(0)], [x], 1,
    { reverse: true })[1];
  assert.deepStrictEqual(read(backwards), [5, 3, 0]);
  assert.strictEqual(loom.scan(([c]) => c.add(1), [loom.tensor(0)], [], 0, { length: 4 })[0].item(),
    4);
  assert.deepStrictEqual(read(loom.grad([x.requireGrad().multiply(2)], [x],
    { cotangents: [one] })[0]), [2, 0, 0]);
  const a = loom.tensor([1]);
  assert.strictEqual(errorOf(() => loom.capture([a], () => a.add(1))).status,
    "LOOM_ERROR_ARGUMENT");
  assert.strictEqual(a.add(1).item(), 2);
  const run = loom.capture([a], () => [a.add(1)]);
  run.release();
  run.release();
  assert.strictEqual(errorOf(() => run([a])).status, "LOOM_ERROR_HANDLE");
});

loom.scope(() => {
  assert.strictEqual(loom.options().reproducible.value, loom.option("reproducible") === 1);
  const before = loom.setOption("reads", 2);
  assert.strictEqual(errorOf(() => loom.tensor(1).add(1).item()).status,
    "LOOM_ERROR_READ_FORBIDDEN");
  assert.strictEqual(loom.setOption("reads", before), 2);
  assert.strictEqual(errorOf(() => loom.option("forbid")).status, "LOOM_ERROR_ARGUMENT");
  const y = loom.tensor([1, 2]).add(1);
  assert.match(loom.programsOf([y])[0].text, /add/);
  assert.ok(loom.wait([y], 60) && y.isReady);
  const [record] = loom.evaluations(1);
  assert.ok(record.site.startsWith(__filename) && record.ops >= 1 && loom.lastEvaluation());
  assert.ok(loom.stats().reads > 0 && loom.memory().tensors >= 1 && loom.platform());
  assert.deepStrictEqual(loom.profileReport(), {});
  loom.beginProfile();
  assert.strictEqual(errorOf(() => loom.beginProfile()).status, "LOOM_ERROR_ARGUMENT");
  assert.strictEqual(loom.tensor([1, 2]).sum().item(), 3);
  assert.ok(loom.endProfile().findings && loom.profileReport().evaluations);
  assert.deepStrictEqual(read(loom.randomKey(2n ** 32n + 7n)), [1, 7]);
});

loom.scope(() => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "loom-")), "x.safetensors");
  const bits = loom.tensor([true, false], { dtype: "bool" });
  loom.save(file, { w: loom.tensor([[1, 2], [3, 4]]), "é": bits, none: loom.tensor([]) },
    { made: "by a test" });
  const { tensors, metadata } = loom.load(file);
  assert.deepStrictEqual([metadata, read(tensors.w), tensors.w.shape, read(tensors["é"]),
    tensors.none.shape], [{ made: "by a test" }, [1, 2, 3, 4], [2, 2], [1, 0], [0]]);
  fs.truncateSync(file, fs.statSync(file).size - 1);
  assert.match(errorOf(() => loom.load(file)).message, /no safetensors file: /);
  fs.rmSync(path.dirname(file), { recursive: true });
});

async function promises() {
  const early = loom.tensor([1, 2]);
  assert.deepStrictEqual(Array.from(await early.readAsync()), [1, 2]);
  await loom.scope(async () => {
    const all = Array.from({ length: 8 }, (_, i) => loom.tensor([i]).add(1).exp().log());
    const waiting = Promise.all(all.map((t) => t.readAsync()));
    for (const t of all) t.release();
    const found = await waiting;
    assert.deepStrictEqual(found.map(([x]) => Math.round(x)), [1, 2, 3, 4, 5, 6, 7, 8]);
    // what is made after a wait is the scope's as well
    await early.add(2).readAsync();
    loom.tensor([3]);
  });
  const [busy] = loom.scope(() => {
    const ones = loom.tensor(new Float32Array(512 * 512).fill(0.5), { shape: [512, 512] });
    return loom.scan(([c]) => c.matmul(c).clip(-1, 1), [ones], [], 0, { length: 40 });
  });
  const reason = new Error("enough");
  const stop = new AbortController(), waited = busy.readAsync({ signal: stop.signal });
  stop.abort(reason);
  await assert.rejects(waited, reason);
  assert.strictEqual(errorOf(() => loom.shutdown()).status, "LOOM_ERROR_ARGUMENT");
  await loom.ready([busy, early]);
  await loom.idle();
  // the options are those of this thread, and the error that of the run
  const before = loom.setOption("compiles", 2);
  const refused = loom.scope(() => early.add(3).tanh().cos());
  await assert.rejects(refused.readAsync(), { status: "LOOM_ERROR_EXECUTION" });
  loom.setOption("compiles", before);
  for (const t of [early, busy, refused]) t.release();
}

promises().then(() => {
  assert.strictEqual(loom.liveHandles(), 0);
  loom.shutdown();
  console.log("works");
});
