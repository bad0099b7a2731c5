/**
 * Inner products of bytes with what is asked for, in 128-bit lanes of WebAssembly; plain loops where the runtime has
 * none. The bytes lie in memory that all threads share, so each graph has a WebAssembly memory of its own.
 */
import type { Region } from "./sections.ts"

/** Of the numbers at `query` (16 bits each) and the bytes at `code`; `count` is a multiple of 16. */
export type Product = (query: number, code: number, count: number) => number

const PAGE_bytes = 65_536
/** A run of memory that compiled code reads. Throws RangeError where the runtime gives none. */
export const allocateLinear = (bytes: number): Region => {
  const pages = Math.max(1, Math.ceil(bytes / PAGE_bytes))
  const linear = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
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

let module: WebAssembly.Module | undefined
let isMissing = false
/** undefined where the runtime has no such lanes, or the memory is of another kind. */
export const productIn = ({ linear }: Region): Product | undefined => {
  if (linear === undefined || isMissing) return undefined
  try {
    module ??= new WebAssembly.Module(Uint8Array.from(atob(KERNEL), (letter) => letter.charCodeAt(0)))
  } catch (error) {
    if (!(error instanceof WebAssembly.CompileError)) throw error
    isMissing = true
    return undefined
  }
  return new WebAssembly.Instance(module, { e: { m: linear } }).exports.d as Product
}
