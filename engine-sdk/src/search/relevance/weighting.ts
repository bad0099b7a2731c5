/** BM25F (Robertson, Zaragoza, Taylor 2004): how much a word's rarity, its count and a field's length weigh. */
import { LONG } from "./unit-index.ts"

const LENGTH_SHARE = 0.6
const SATURATION = 1.4
const GAIN = 2.4

/** Inverse document frequency; always positive. `docs` may be 0. */
export const idfOf = (frequency: number, docs: number): number =>
  Math.log(1 + (docs - Math.min(frequency, docs) + 0.5) / (Math.min(frequency, docs) + 0.5))
/** Saturates a weighted, length-normalized count, to 0..2.4. */
export const saturated = (tf: number): number => (GAIN * tf) / (SATURATION + tf)
/** Weight of one occurrence in a text of this length. */
const perOccurrence = (weight: number, length: number, lengthMean: number): number =>
  weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / lengthMean)

/** Lengths up to this one use the table; for longer texts the weight is computed each time. */
const LENGTHS_MAX = 512
let table = new Float64Array(0)
/**
 * Weight of one occurrence, by unit and length. The table exists because two divisions per posting took a twentieth of
 * a search, and lengths repeat. It is used by one search at a time.
 */
export class LengthNorms {
  private readonly units: ReadonlyArray<{ readonly weight: number }>
  private readonly means: ReadonlyArray<number>
  private readonly known: Float64Array
  constructor(units: ReadonlyArray<{ readonly weight: number }>, means: ReadonlyArray<number>) {
    this.units = units
    this.means = means
    const size = units.length * LENGTHS_MAX
    if (table.length < size) table = new Float64Array(size)
    this.known = table.fill(0, 0, size)
  }
  /** Weight of a posting: `lengths` are looked up for long texts only. */
  ofPosting(unit: number, occurrences: number, lengths: Uint16Array, doc: number): number {
    const length = occurrences & 255
    return (occurrences >>> 8) * this.of(unit, length < LONG ? length : lengths[doc])
  }
  of(unit: number, length: number): number {
    if (length >= LENGTHS_MAX) return perOccurrence(this.units[unit].weight, length, this.means[unit])
    const at = unit * LENGTHS_MAX + length
    const known = this.known[at]
    return known !== 0 ? known : (this.known[at] = perOccurrence(this.units[unit].weight, length, this.means[unit]))
  }
}
