import type { Methods } from "./ops";

export type DType =
  | "bool" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
  | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128";
export type Ints = readonly (number | bigint)[];
export type Numbers = readonly number[];
/** A tensor or a number, which takes the dtype of the tensors beside it. */
export type Operand = Tensor | number | bigint | boolean;
export type Values = number | bigint | boolean | readonly Values[];
export type Elements =
  | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array | Uint32Array
  | BigUint64Array | Float32Array | Float64Array;

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
  readonly dtype: DType;
  readonly shape: number[];
  readonly requiresGrad: boolean;
  release(): void;
  read(): Elements;
  item(): number | bigint | boolean;
  requireGrad(): this;
  assign(value: Tensor): void;
  detach(): Tensor;
  backward(): void;
  gradient(): Tensor | null;
  clearGradient(): void;
}

export function start(): void;
export function shutdown(): void;
export function tensor(values: Values | Elements, options?: { dtype?: DType; shape?: Ints }): Tensor;
export function scope<T>(f: () => T): T;
export function noGrad<T>(f: () => T): T;
export function grad(outputs: Tensor[], inputs: Tensor[]): Tensor[];
export function sync(tensors: Tensor[], wait?: boolean): void;
export function capture(
  inputs: Tensor[], step: () => Tensor[]): ((inputs: Tensor[]) => Tensor[]) & { release(): void };
export function scan(
  step: (carry: Tensor[], elements: Tensor[]) => Tensor[], init: Tensor[], xs?: Tensor[],
  ysCount?: number): Tensor[];
export function whileLoop(
  condition: (carry: Tensor[]) => Tensor, body: (carry: Tensor[]) => Tensor[], init: Tensor[],
  maxSteps?: number): Tensor[];
export function cond(
  which: Tensor, ifTrue: (operands: Tensor[]) => Tensor[],
  ifFalse: (operands: Tensor[]) => Tensor[], operands: Tensor[], count?: number): Tensor[];
export function stat(name: string): number;
export function liveHandles(): number;

export * from "./ops";
