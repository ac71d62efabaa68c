// Transforms of functions: each takes the list of its inputs and gives a list of tensors.
"use strict";
const { check, fail, note } = require("./library.js");
const { handles, innermost, keep, ownedList, owned, release, room } = require("./tensors.js");
const { calling, orNull } = require("./programs.js");

const ownedOrNull = (found, count) =>
  Array.from(found.subarray(0, count), (bits) => (bits === 0n ? null : owned(bits)));

// The derivative of a function at its inputs, as a function of a list.
function linearMap(bits, takes, gives) {
  const map = (given) => {
    const from = orNull(given, "given", takes), found = room(gives);
    check(note().loom_linear_map_apply({ bits: map.held === null ? 0n : map.held.bits }, from,
      takes, found, gives));
    return ownedOrNull(found, gives);
  };
  keep(map, "map", bits);
  map.release = () => release(map);
  innermost()?.made.add(map);
  return map;
}

function withMap(name, f, inputs, count, takes, gives) {
  const given = handles(inputs, "inputs"), outputs = room(count), map = room(1);
  calling([f], (C, callback) =>
    C[name](callback, null, given, inputs.length, outputs, count, map));
  return [ownedList(outputs, count), linearMap(map[0], takes, gives)];
}

/** The list of count results of f and the pullback: a function from the list of a cotangent for
 * each result, null for zero, to that of one for each input, null where there is none. */
function vjp(f, inputs, count = 1) {
  return withMap("loom_vjp", f, inputs, count, count, inputs.length);
}

/** The list of count results of f and the pushforward: a function from the list of a tangent for
 * each input, null for zero, to that of one for each result. */
function linearize(f, inputs, count = 1) {
  return withMap("loom_linearize", f, inputs, count, inputs.length, count);
}

/** The lists of the count results of f and of their derivatives along tangents, null for zero. */
function jvp(f, inputs, tangents, count = 1) {
  const given = handles(inputs, "inputs"), along = orNull(tangents, "tangents", inputs.length);
  const outputs = room(count), derivatives = room(count);
  calling([f], (C, callback) => C.loom_jvp(callback, null, given, along, inputs.length, outputs,
    derivatives, count));
  return [ownedList(outputs, count), ownedOrNull(derivatives, count)];
}

function positionsOf(positions, count) {
  const list = positions ?? Array.from({ length: count }, (_, i) => i);
  if (!Array.isArray(list) || !list.every((i) => Number.isInteger(i) && i >= 0))
    fail("LOOM_ERROR_ARGUMENT", `positions is ${String(positions)}, expected a list of the ` +
      `numbers of inputs`, "positions");
  const found = room(list.length);
  list.forEach((at, i) => { found[i] = BigInt(at); });
  return [found, list.length];
}

/** The list of count results of f, of which the first has no dimensions, and the list of its
 * gradients by the inputs at positions, all if they are not given. */
function valueAndGrad(f, inputs, { count = 1, positions } = {}) {
  const given = handles(inputs, "inputs"), [at, number] = positionsOf(positions, inputs.length);
  const outputs = room(count), gradients = room(number);
  calling([f], (C, callback) => C.loom_value_and_grad(callback, null, given, inputs.length, at,
    number, outputs, count, gradients));
  return [ownedList(outputs, count), ownedList(gradients, number)];
}

const DIRECTIONS = ["any", "forward", "reverse"];

/** The derivatives of each element of the results by each of the inputs at positions: a list for
 * each of the count results. direction: "any", "forward" or "reverse". */
function jacobian(f, inputs,
  { count = 1, positions, direction = "any", holomorphic = false } = {}) {
  const given = handles(inputs, "inputs"), [at, number] = positionsOf(positions, inputs.length);
  const way = DIRECTIONS.indexOf(direction), found = room(count * number);
  if (way < 0)
    fail("LOOM_ERROR_ARGUMENT", `direction is ${direction}, expected "any", "forward" or ` +
      `"reverse"`, "direction");
  calling([f], (C, callback) => C.loom_jacobian(callback, null, given, inputs.length, at, number,
    count, way, holomorphic, found));
  const all = ownedList(found, count * number);
  return Array.from({ length: count }, (_, i) => all.slice(i * number, (i + 1) * number));
}

/** The second derivatives of the results by the inputs at positions: of each result a list of a
 * list for each position. */
function hessian(f, inputs, { count = 1, positions } = {}) {
  const given = handles(inputs, "inputs"), [at, number] = positionsOf(positions, inputs.length);
  const found = room(count * number * number);
  calling([f], (C, callback) => C.loom_hessian(callback, null, given, inputs.length, at, number,
    count, found));
  const all = ownedList(found, count * number * number);
  return Array.from({ length: count }, (_, i) => Array.from({ length: number }, (_, j) =>
    all.slice((i * number + j) * number, (i * number + j + 1) * number)));
}

const UNMAPPED = -(2n ** 63n);

function axesOf(axes, count, name) {
  if (axes === undefined) return null;
  const list = Array.isArray(axes) ? axes : Array(count).fill(axes);
  if (list.length !== count || !list.every((a) => a === null || Number.isInteger(a)))
    fail("LOOM_ERROR_ARGUMENT", `${name} is [${list}], expected ${count} integers, or null where ` +
      `there is no such axis`, name);
  return BigInt64Array.from(list.length ? list : [0], (a) => (a === null ? UNMAPPED : BigInt(a)));
}

/** What f does for one element of an axis, for all of them: the list of its count results. inAxes,
 * outAxes: the axis of each input and result, null for none, 0 if they are not given. axisSize:
 * where no input has the axis. */
function vmap(f, inputs, { count = 1, inAxes, outAxes, axisSize = -1 } = {}) {
  const given = handles(inputs, "inputs"), found = room(count);
  const from = axesOf(inAxes, inputs.length, "inAxes"), to = axesOf(outAxes, count, "outAxes");
  calling([f], (C, callback) => C.loom_vmap(callback, null, given, inputs.length, from, axisSize,
    to, found, count));
  return ownedList(found, count);
}

module.exports = { hessian, jacobian, jvp, linearize, valueAndGrad, vjp, vmap };
