// The digits classifier of examples/digits.c in JavaScript:
//
//   node digits.js [DATA_FOLDER [REPORT.json [EPOCHS]]]
//
// Everything that the classifiers share (random numbers, order, steps) is described in digits.c.
"use strict";
const fs = require("fs");
const loom = require("..");

const PIXELS = 64, BATCH = 32;
const folder = process.argv[2] || "examples/data/digits", epochs = Number(process.argv[4] || 20);

let state = 2024n;
const word = (x) => BigInt.asUintN(64, x);

function nextRandom() {
  state = word(state + 0x9e3779b97f4a7c15n);
  let z = state;
  z = word((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

function readDigits(part) {
  const bytes = (name, header) => fs.readFileSync(`${folder}/${part}-${name}`).subarray(header);
  const expected = BigInt64Array.from(bytes("labels.idx1-ubyte", 8), BigInt);
  const pixels = Float32Array.from(bytes("images.idx3-ubyte", 16), (p) => p / 16);
  const images = loom.tensor(pixels, { shape: [expected.length, PIXELS] });
  return { count: expected.length, images, labels: loom.tensor(expected), expected };
}

loom.start();

// ---- the network -----------------------------------------------------------------------------

const sizes = [PIXELS, 64, 32, 10];
const bounds = [0.30618621784789724, 0.30618621784789724, 0.4330127018922193];
const parameters = [], momenta = [];
for (let layer = 0; layer < 3; ++layer) {
  const inputs = sizes[layer], outputs = sizes[layer + 1];
  const weights = Float32Array.from({ length: inputs * outputs },
    () => (2 * (Number(nextRandom() >> 40n) / 16777216) - 1) * bounds[layer]);
  const zeros = new Float32Array(inputs * outputs);
  parameters.push(loom.tensor(weights, { shape: [inputs, outputs] }).requireGrad());
  parameters.push(loom.tensor(zeros.subarray(0, outputs)).requireGrad());
  momenta.push(loom.tensor(zeros, { shape: [inputs, outputs] }));
  momenta.push(loom.tensor(zeros.subarray(0, outputs)));
}

function logitsOf(h) {
  for (let layer = 0; layer < 3; ++layer) {
    h = h.matmul(parameters[2 * layer]).add(parameters[2 * layer + 1]);
    if (layer < 2) h = h.relu();
  }
  return h;
}

// Records a step; gives the loss before it.
function step(images, labels, indices) {
  const chosen = loom.tensor(indices);
  const x = images.take(chosen), y = labels.take(chosen);
  const loss = logitsOf(x).cross_entropy(y);
  loss.backward();
  const gradients = parameters.map((p) => {
    const gradient = p.gradient();
    p.clearGradient();
    return gradient;
  });
  loom.noGrad(() => parameters.forEach((p, i) => {
    const m = momenta[i];
    m.assign(m.multiply(0.9).add(gradients[i]));
    p.assign(p.subtract(m.multiply(0.05)));
  }));
  return loss;
}

function accuracyOf({ images, expected }) {
  const guesses = loom.scope(() => loom.noGrad(() => logitsOf(images).argmax({ axis: 1 })));
  const right = guesses.read().reduce((n, g, i) => n + (g === expected[i] ? 1 : 0), 0);
  guesses.release();
  return right / expected.length;
}

// ---- training --------------------------------------------------------------------------------

const train = readDigits("train"), test = readDigits("test");
const order = BigInt64Array.from({ length: train.count }, (_, i) => BigInt(i));
const steps = Math.floor(train.count / BATCH), losses = [];
let accuracy = 0;
for (let epoch = 1; epoch <= epochs; ++epoch) {
  let mean = 0;
  for (let i = order.length - 1; i > 0; --i) {
    const j = Number(nextRandom() % BigInt(i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  for (let i = 0; i < steps; ++i) {
    const indices = order.subarray(i * BATCH, (i + 1) * BATCH);
    // what the step made is released before the loss is read, or it would be computed as well
    const loss = loom.scope(() => step(train.images, train.labels, indices));
    losses.push(loss.item());
    loss.release();
    mean += losses[losses.length - 1] / steps;
  }
  accuracy = accuracyOf(test);
  console.log(`node: epoch ${String(epoch).padStart(2)}  loss ${mean.toFixed(6)}  ` +
    `test accuracy ${accuracy.toFixed(4)}`);
}
if (process.argv[3])
  fs.writeFileSync(process.argv[3], JSON.stringify({
    frontend: "node", programs_compiled: loom.stat("programs_compiled"),
    final_loss: losses[losses.length - 1], test_accuracy: accuracy, losses,
  }));
loom.shutdown();
