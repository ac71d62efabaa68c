// The digits classifier of ../digits.c from Node, with koffi (npm install koffi):
//
//   node digits.js [DATA_FOLDER [REPORT.json]]
//
// PYTHON names the interpreter of the environment that Lazyloom is installed in (python3 if it is
// not set): it says where the library is and what its functions are. Everything that the
// classifiers share (random numbers, order, steps) is described in digits.c.
"use strict";
const { execFileSync } = require("child_process");
const fs = require("fs");
const koffi = require("koffi");

const told = (option) =>
  execFileSync(process.env.PYTHON || "python3", ["-m", "lazyloom_capi", option], {
    encoding: "utf8",
  }).trim();

// ---- the library: types by hand, functions as the header declares them ---------------------

for (const kind of ["tensor", "buffer", "program"])
  koffi.struct(`loom_${kind}`, { bits: "uint64_t" });
for (const name of ["status", "dtype", "option"]) koffi.alias(`loom_${name}`, "int");
koffi.struct("loom_operand", {
  kind: "int", dtype: "int", tensor: "uint64_t", integer: "int64_t", real: "double",
  imaginary: "double",
});
koffi.struct("loom_attr", {
  name: "const char *", kind: "int", count: "size_t", value: "int64_t",
});
const library = koffi.load(told("--build"));
const loom = {};
for (const line of told("--declarations").split("\n")) {
  if (line.startsWith("typedef") || line.includes("(*done)")) continue;
  const name = line.match(/(\w+)\(/)[1];
  loom[name] = library.func(line.replace(/;$/, ""));
}

const FLOAT32 = 12, INT64 = 5, TENSOR = 1, REAL = 4, INT = 2;

function attempt(status) {
  if (status !== 0)
    throw new Error(`${loom.loom_status_name(status)}: ${loom.loom_error_message()}`);
}

// A tensor is its handle's bits; a function gives one through an array.
const handle = (bits) => ({ bits });
const release = (bits) => attempt(loom.loom_tensor_release(handle(bits)));

function given(call) {
  const result = new BigUint64Array(1);
  attempt(call(result));
  return result[0];
}

function apply(op, operands, attributes = {}) {
  const numbers = { dtype: 0, tensor: 0n, integer: 0n, real: 0, imaginary: 0 };
  const list = operands.map((x) => typeof x === "bigint"
    ? { ...numbers, kind: TENSOR, tensor: x }
    : { ...numbers, kind: REAL, real: x });
  // an axis, in all that is used here
  const attrs = Object.entries(attributes).map(
    ([name, value]) => ({ name, kind: INT, count: 0, value: BigInt(value) }));
  return given((result) => loom.loom_apply(
    op, list, list.length, attrs, attrs.length, result, 1, null));
}

function tensor(values, dtype, shape) {
  return given((result) => loom.loom_tensor_from_host(
    values, values.byteLength, dtype, new BigInt64Array(shape.map(BigInt)), shape.length, result));
}

// ---- random numbers -------------------------------------------------------------------------

let state = 2024n;
const word = (x) => BigInt.asUintN(64, x);

function nextRandom() {
  state = word(state + 0x9e3779b97f4a7c15n);
  let z = state;
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

function shuffle(order) {
  for (let i = order.length - 1; i > 0; --i) {
    const j = Number(nextRandom() % BigInt(i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
}

// ---- data -----------------------------------------------------------------------------------

const PIXELS = 64, CLASSES = 10, BATCH = 32, EPOCHS = 20;
const folder = process.argv[2] || "examples/data/digits";

function readDigits(part) {
  const bytes = (name, header) => fs.readFileSync(`${folder}/${part}-${name}`).subarray(header);
  const pixels = Float32Array.from(bytes("images.idx3-ubyte", 16), (p) => p / 16);
  const labels = BigInt64Array.from(bytes("labels.idx1-ubyte", 8), BigInt);
  return { count: labels.length, pixels, labels };
}

const train = readDigits("train"), test = readDigits("test");

// ---- the network ----------------------------------------------------------------------------

attempt(loom.loom_initialize());

const sizes = [PIXELS, 64, 32, CLASSES];
const bounds = [0.30618621784789724, 0.30618621784789724, 0.4330127018922193];
const parameters = [], momenta = [];
for (let layer = 0; layer < 3; ++layer) {
  const inputs = sizes[layer], outputs = sizes[layer + 1];
  const weights = Float32Array.from({ length: inputs * outputs },
    () => (2 * (Number(nextRandom() >> 40n) / 16777216) - 1) * bounds[layer]);
  const zeros = new Float32Array(inputs * outputs);
  parameters.push(tensor(weights, FLOAT32, [inputs, outputs]));
  parameters.push(tensor(zeros.subarray(0, outputs), FLOAT32, [outputs]));
  momenta.push(tensor(zeros, FLOAT32, [inputs, outputs]));
  momenta.push(tensor(zeros.subarray(0, outputs), FLOAT32, [outputs]));
}
for (const p of parameters) attempt(loom.loom_tensor_require_grad(handle(p), true));

function logitsOf(x) {
  let h = x;
  for (let layer = 0; layer < 3; ++layer) {
    const product = apply("matmul", [h, parameters[2 * layer]]);
    const sum = apply("add", [product, parameters[2 * layer + 1]]);
    release(product);
    if (layer > 0) release(h);
    h = sum;
    if (layer < 2) {
      h = apply("relu", [sum]);
      release(sum);
    }
  }
  return h;
}

function store(target, result) {
  attempt(loom.loom_tensor_assign(handle(target), handle(result)));
  release(result);
}

function update(parameter, velocity, gradient) {
  const faded = apply("multiply", [velocity, 0.9]);
  store(velocity, apply("add", [faded, gradient]));
  const change = apply("multiply", [velocity, 0.05]);
  store(parameter, apply("subtract", [parameter, change]));
  release(faded);
  release(change);
}

function withoutGradients(work) {
  attempt(loom.loom_set_grad_enabled(false, null));
  const result = work();
  attempt(loom.loom_set_grad_enabled(true, null));
  return result;
}

function trainStep(images, labels, indices) {
  const chosen = tensor(indices, INT64, [BATCH]);
  const x = apply("take", [images, chosen], { axis: 0 });
  const y = apply("take", [labels, chosen], { axis: 0 });
  const logits = logitsOf(x);
  const loss = apply("cross_entropy", [logits, y]);
  attempt(loom.loom_backward([handle(loss)], 1, null));
  const gradients = parameters.map((p) => {
    const gradient = given((result) => loom.loom_tensor_gradient(handle(p), result));
    attempt(loom.loom_tensor_clear_gradient(handle(p)));
    return gradient;
  });
  withoutGradients(() => parameters.forEach((p, i) => update(p, momenta[i], gradients[i])));
  for (const t of [...gradients, logits, x, y, chosen]) release(t);
  const result = new Float32Array(1);
  attempt(loom.loom_tensor_read(handle(loss), result, result.byteLength));
  release(loss);
  return result[0];
}

function accuracyOf(images, { count, labels }) {
  const guesses = withoutGradients(() => {
    const logits = logitsOf(images);
    const best = apply("argmax", [logits], { axis: 1 });
    release(logits);
    return best;
  });
  const guessed = new BigInt64Array(count);
  attempt(loom.loom_tensor_read(handle(guesses), guessed, guessed.byteLength));
  release(guesses);
  return guessed.reduce((right, g, i) => right + (g === labels[i] ? 1 : 0), 0) / count;
}

// ---- training -------------------------------------------------------------------------------

const images = tensor(train.pixels, FLOAT32, [train.count, PIXELS]);
const labels = tensor(train.labels, INT64, [train.count]);
const testImages = tensor(test.pixels, FLOAT32, [test.count, PIXELS]);
const order = BigInt64Array.from({ length: train.count }, (_, i) => BigInt(i));
const steps = Math.floor(train.count / BATCH), losses = [];
let accuracy = 0;
for (let epoch = 1; epoch <= EPOCHS; ++epoch) {
  let mean = 0;
  shuffle(order);
  for (let i = 0; i < steps; ++i) {
    losses.push(trainStep(images, labels, order.subarray(i * BATCH, (i + 1) * BATCH)));
    mean += losses[losses.length - 1] / steps;
  }
  accuracy = accuracyOf(testImages, test);
  console.log(`node: epoch ${String(epoch).padStart(2)}  loss ${mean.toFixed(6)}  ` +
    `test accuracy ${accuracy.toFixed(4)}`);
}

if (process.argv[3]) {
  const compiled = new BigInt64Array(1);
  attempt(loom.loom_stat("programs_compiled", compiled));
  fs.writeFileSync(process.argv[3], JSON.stringify({
    frontend: "node", programs_compiled: Number(compiled[0]),
    final_loss: losses[losses.length - 1], test_accuracy: accuracy, losses,
  }));
}
attempt(loom.loom_shutdown());
