// Lazyloom for Node: operations are recorded as they are called and compiled, as one program, when
// a value is needed.
//
//   const loom = require("lazyloom");
//   loom.start();
//   const x = loom.tensor([1, 2, 3]).requireGrad();
//   const y = x.add(1).multiply(2).sum();         // recorded, not computed
//   y.backward();
//   console.log(x.gradient().read(), y.item());   // compiled and run
//
// Every op is a function of the module, and a method of its first operand: operands in order, null
// for one that is left out, then an object of attributes: x.sum({ axes: 0, keepdims: true }). What
// fails throws a LoomError, with status, op, site, argument and index.
//
// LAZYLOOM_LIBRARY names liblazyloom.so; if it is not set, PYTHON -m lazyloom_capi --build is
// asked (python3 if PYTHON is not set).
"use strict";
const { LoomError, shutdown, start } = require("./library.js");
const { Tensor, idle, ops, ready, scope, tensor } = require("./tensors.js");
const { assign, capture, cond, grad, noGrad, scan, sync, wait, whileLoop } =
  require("./programs.js");

module.exports = {
  ...ops, ...require("./transforms.js"), ...require("./reports.js"),
  ...require("./safetensors.js"), LoomError, Tensor, assign, capture, cond, grad, idle, noGrad,
  ready, scan, scope, shutdown, start, sync, tensor, wait, whileLoop,
};
