/**
 * The best value of every 32 documents by a sort column: a search for the best documents skips blocks that cannot
 * contain one. Cached with the segment, at a quarter of a byte per document for each column and direction.
 */
import { hasBit, type Bits } from "../../index/bits.ts"
import type { Segment } from "../../index/segment.ts"

/** Documents between two chances to yield. */
const STEP_MASK = 8_191

interface Maxima {
  readonly bytes: number
  readonly values: Float64Array
}
/** The values that decide an order: `sign · first[doc]`, or `absent` for a document that is not in `has`. */
interface Ordered {
  readonly sign: number
  readonly first: ArrayLike<number>
  readonly has?: Bits | undefined
  readonly absent: number
}
const maximaName = (name: string, { absent, sign }: Ordered): string => `maxima:${sign}:${absent}:${name}`

/** One value per 32 documents; `name` is the column's. The first use makes one pass over the documents. */
export const blockMaxima = (segment: Segment, name: string, ordered: Ordered): Float64Array => {
  const work = makingMaxima(segment, name, ordered)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
function* makingMaxima(segment: Segment, name: string, ordered: Ordered): Generator<void, Float64Array> {
  const key = maximaName(name, ordered)
  const known = segment.derived.get(key) as Maxima | undefined
  if (known !== undefined) return known.values
  const { absent, first, has, sign } = ordered
  const values = new Float64Array((segment.docs + 31) >>> 5).fill(-Infinity)
  for (let doc = 0; doc < segment.docs; doc++) {
    if ((doc & STEP_MASK) === STEP_MASK) yield
    const value = has !== undefined && !hasBit(has, doc) ? absent : sign * first[doc]
    if (value > values[doc >>> 5]) values[doc >>> 5] = value
  }
  segment.derived.set(key, { bytes: values.byteLength, values } satisfies Maxima)
  return values
}
/** Computes, in steps, the maxima that searches used of the replaced segments, for the segment that replaces them. */
export function* preparingMaxima(
  segment: Segment,
  name: string,
  ordered: Ordered,
  replaced: ReadonlyArray<Segment>
): Generator<void, void> {
  if (replaced.some(({ derived }) => derived.has(maximaName(name, ordered))))
    yield* makingMaxima(segment, name, ordered)
}
