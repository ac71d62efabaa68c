// What the layer adds to the C ABI: ownership, methods, errors, callbacks, captures.
"use strict";
const assert = require("assert");
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
assert.strictEqual(loom.liveHandles(), 0);
loom.shutdown();
console.log("works");
