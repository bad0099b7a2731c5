/**
 * Products of rows with a query in double precision, four lanes at a time, if the runtime supports it. Rows are
 * multiplied in the buffer they were read into. Each lane adds up in the order of a plain loop, so sums are identical
 * to the last bit.
 */
import { compiled, exportsOf } from "./compiled.ts"

/** Memory layout: the eight sums, then the query, then rows. */
const QUERY_AT = 64
const QUERY_MAX = 8_192
const ROWS_at = QUERY_AT + 8 * QUERY_MAX
/** Bytes read together for consecutive rows; a larger block is no faster. */
export const BLOCK_BYTES = 98_304

/**
 * (module (memory (export "m") 3) (func (export "r") (param $row i32) (param $query i32) (param $sums i32) (param
 * $groups i32))): over groups of four numbers, by `f64x2.promote_low_f32x4`, `f64x2.mul` and `f64x2.add`, the sums per
 * lane of query times row and of row times row; $groups is at least 1. In base 64.
 */
const KERNEL =
  "AGFzbQEAAAABCAFgBH9/f38AAwIBAAUDAQADBwkCAW0CAAFyAAAKpwEBpAEBBnsDQCAA/QACACIF/V8hBCAFIAX9DQgJCgsMDQ4P" +
  "CAkKCwwNDg/9XyEFIAYgAf0AAwAgBP3yAf3wASEGIAcgAf0AAxAgBf3yAf3wASEHIAggBCAE/fIB/fABIQggCSAFIAX98gH98AEh" +
  "CSAAQRBqIQAgAUEgaiEBIANBAWsiAw0ACyACIAb9CwMAIAIgB/0LAxAgAiAI/QsDICACIAn9CwMwCw=="

type Multiply = (row: number, query: number, sums: number, groups: number) => void

/** Used by one thread. */
export class RowKernel {
  readonly block: Float32Array<ArrayBuffer>
  private readonly query: Float64Array
  private readonly sums: Float64Array
  private readonly multiply: Multiply
  private of: ArrayLike<number> | undefined
  private constructor(memory: ArrayBuffer, multiply: Multiply) {
    this.sums = new Float64Array(memory, 0, 8)
    this.query = new Float64Array(memory, QUERY_AT, QUERY_MAX)
    this.block = new Float32Array(memory, ROWS_at, BLOCK_BYTES / 4)
    this.multiply = multiply
  }
  /** undefined if the runtime has no such lanes. */
  static make(): RowKernel | undefined {
    const module = compiled(KERNEL)
    if (module === undefined) return undefined
    const { m, r } = exportsOf(module, {}) as { readonly m: { readonly buffer: ArrayBuffer }; readonly r: Multiply }
    return new RowKernel(m.buffer, r)
  }
  /**
   * Sums of four lanes each, of query times row and row times row, over complete groups of four; undefined if the query
   * is too long or too short. `at`: index in `block`.
   */
  sumsOf(query: ArrayLike<number>, at: number, width: number): Float64Array | undefined {
    const groups = width >>> 2
    if (groups === 0 || width > QUERY_MAX || query.length !== width) return undefined
    // It is the same array for all rows of a search, and is never modified.
    if (this.of !== query) {
      this.query.set(query)
      this.of = query
    }
    this.multiply(ROWS_at + at * 4, QUERY_AT, 0, groups)
    return this.sums
  }
}
