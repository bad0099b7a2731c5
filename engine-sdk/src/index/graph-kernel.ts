/**
 * Inner products of byte vectors with a query, in 128-bit lanes of WebAssembly, or in plain loops if the runtime has
 * none. The bytes are in memory that all threads share, so each graph has its own WebAssembly memory.
 */
import { compiled, exportsOf, PAGE_BYTES, sharedMemory } from "./compiled.ts"
import type { Region } from "./sections.ts"

/** Product of the numbers at `query` (16 bits each) and the bytes at `code`; `count` is a multiple of 16. */
export type Product = (query: number, code: number, count: number) => number

/** A region of memory that compiled code can read. Throws RangeError if the runtime cannot allocate it. */
export const allocateLinear = (bytes: number): Region => {
  const linear = sharedMemory(Math.max(1, Math.ceil(bytes / PAGE_BYTES)))
  return { buffer: linear.buffer, offset: 0, length: bytes, linear }
}

/**
 * (module (import "e" "m" (memory 1 65536 shared)) (func (export "d") (param $query i32) (param $code i32) (param
 * $count i32) (result i32)): the sum of query[k]·code[k] in two accumulators of four lanes, 16 numbers a round, by
 * `v128.load`, `v128.load8x8_s`, `i32x4.dot_i16x8_s` and `i32x4.add`. In base 64.
 */
const KERNEL =
  "AGFzbQEAAAABCAFgA39/fwF/AgsBAWUBbQIDAYCABAMCAQAHBQEBZAAACmoBaAECewNAIAMgAP0ABAAgAf0BAAD9ugH9rgEhAyAE" +
  "IAD9AAQQIAH9AQAI/boB/a4BIQQgAEEgaiEAIAFBEGohASACQRBrIgINAAsgAyAE/a4BIgP9GwAgA/0bAWogA/0bAmogA/0bA2oL"

let module: object | undefined
let isTried = false
/** undefined if the runtime has no such lanes, or the memory is of another kind. */
export const productIn = ({ linear }: Region): Product | undefined => {
  if (linear === undefined) return undefined
  if (!isTried) module = compiled(KERNEL)
  isTried = true
  if (module === undefined) return undefined
  return (exportsOf(module, { e: { m: linear } }) as { readonly d: Product }).d
}
