import type { Methods } from "./ops";

export type DType =
  | "bool" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
  | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128";
export interface Complex { re: number; im: number }
export type Ints = readonly (number | bigint)[] | Int32Array | BigInt64Array;
export type Numbers = readonly number[] | Float32Array | Float64Array;
/** A tensor or a number, which takes the dtype of the tensors beside it. */
export type Operand = Tensor | number | bigint | boolean | Complex;
export type Values = number | bigint | boolean | Complex | Elements | readonly Values[];
export type Elements =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint8ClampedArray
  | Uint16Array | Uint32Array | BigUint64Array | Float32Array | Float64Array;

export class LoomError extends Error {
  /** Its name in C, such as "LOOM_ERROR_SHAPE". */
  status: string;
  op: string;
  /** The caller's file:line. */
  site: string;
  argument: string;
  index: number | null;
}

export interface Tensor extends Methods {}
export class Tensor {
  private constructor();
  readonly bits: bigint;
  readonly dtype: DType;
  readonly shape: number[];
  readonly requiresGrad: boolean;
  readonly isReady: boolean;
  release(): void;
  read(): Elements;
  readAsync(options?: { signal?: AbortSignal }): Promise<Elements>;
  item(): number | bigint | boolean | Complex;
  requireGrad(): this;
  assign(value: Tensor): void;
  detach(): Tensor;
  backward(): void;
  gradient(): Tensor | null;
  clearGradient(): void;
}

export function start(): void;
export function shutdown(): void;
export function tensor(values: Values, options?: { dtype?: DType; shape?: Ints }): Tensor;
export function scope<T>(f: () => T): T;
export function noGrad<T>(f: () => T): T;
export function grad(
  outputs: Tensor[], inputs: Tensor[],
  options?: { cotangents?: (Tensor | null)[]; createGraph?: boolean }): Tensor[];
export function assign(targets: Tensor[], values: Tensor[]): void;
export function sync(tensors: Tensor[], wait?: boolean): void;
export function wait(tensors: Tensor[], seconds: number): boolean;
export function ready(tensors: Tensor[], options?: { signal?: AbortSignal }): Promise<void>;
export function idle(): Promise<void>;
export function capture(
  inputs: Tensor[], step: () => Tensor[]): ((inputs: Tensor[]) => Tensor[]) & { release(): void };
export function scan(
  step: (carry: Tensor[], elements: Tensor[]) => Tensor | Tensor[], init: Tensor[],
  xs?: Tensor[], ysCount?: number, options?: { length?: number; reverse?: boolean }): Tensor[];
export function whileLoop(
  condition: (carry: Tensor[]) => Tensor, body: (carry: Tensor[]) => Tensor | Tensor[],
  init: Tensor[], maxSteps?: number): Tensor[];
export function cond(
  which: Tensor, ifTrue: TensorFunction, ifFalse: TensorFunction, operands: Tensor[],
  count?: number): Tensor[];

/** Takes the list of its inputs and gives a list of tensors, or a tensor for one. */
export type TensorFunction = (inputs: Tensor[]) => Tensor | Tensor[];
export type LinearMap = ((given: (Tensor | null)[]) => (Tensor | null)[]) & { release(): void };
export function vjp(f: TensorFunction, inputs: Tensor[], count?: number): [Tensor[], LinearMap];
export function linearize(
  f: TensorFunction, inputs: Tensor[], count?: number): [Tensor[], LinearMap];
export function jvp(
  f: TensorFunction, inputs: Tensor[], tangents: (Tensor | null)[],
  count?: number): [Tensor[], (Tensor | null)[]];
export function valueAndGrad(
  f: TensorFunction, inputs: Tensor[],
  options?: { count?: number; positions?: number[] }): [Tensor[], Tensor[]];
export function jacobian(
  f: TensorFunction, inputs: Tensor[], options?: {
    count?: number; positions?: number[]; direction?: "any" | "forward" | "reverse";
    holomorphic?: boolean;
  }): Tensor[][];
export function hessian(
  f: TensorFunction, inputs: Tensor[],
  options?: { count?: number; positions?: number[] }): Tensor[][][];
type Axes = number | null | (number | null)[];
export function vmap(
  f: TensorFunction, inputs: Tensor[],
  options?: { count?: number; inAxes?: Axes; outAxes?: Axes; axisSize?: number }): Tensor[];

export interface Option {
  value: number | boolean;
  scope: "thread" | "process";
  default?: number;
  minimum?: number | null;
  maximum?: number | null;
  unit?: string;
  doc?: string;
}
/** The record of one run, as loom_evaluations_json() has it. */
export interface Evaluation {
  number: number;
  reason: string;
  site: string;
  program: string;
  ops: number;
  found: string;
  form: string;
  why: string;
  backend: string;
  difference: string | null;
  seconds: Record<string, number>;
  bytes_in: number;
  bytes_out: number;
  bytes_donated: number;
  copied: number;
  error: string | null;
}
export function options(): Record<string, Option>;
export function option(name: string): number;
export function setOption(name: string, value: number | boolean): number;
export function stat(name: string): number;
export function stats(): Record<string, number>;
export function resetStats(): void;
export function evaluations(count?: number): Evaluation[];
export function lastEvaluation(): string;
export function beginProfile(path?: string | null, sources?: boolean): void;
export function endProfile(): Record<string, unknown>;
export function profileReport(): Record<string, unknown>;
export function programsOf(tensors: Tensor[]): { key: string; text: string }[];
export function memory(): {
  tensors: number; tensor_bytes: number; pending: number; resident: number; peak: number;
};
export function platform(): string;
export function cacheDir(): string;
export function liveHandles(): number;
export function randomKey(seed: number | bigint): Tensor;

export function save(
  path: string, tensors: Record<string, Tensor>, metadata?: Record<string, string> | null): void;
export function load(
  path: string): { tensors: Record<string, Tensor>; metadata: Record<string, string> };

export * from "./ops";
