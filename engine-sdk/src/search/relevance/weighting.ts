/** BM25F (Robertson, Zaragoza, Taylor 2004): how much a word's rarity, its count and a field's length weigh. */

const LENGTH_SHARE = 0.6
const SATURATION = 1.4
const GAIN = 2.4

/** Always positive. `docs` may be 0. */
export const idfOf = (frequency: number, docs: number): number =>
  Math.log(1 + (docs - Math.min(frequency, docs) + 0.5) / (Math.min(frequency, docs) + 0.5))
/** 0..2.4 for a weighted, length-normalised count. */
export const saturated = (tf: number): number => (GAIN * tf) / (SATURATION + tf)
/** What one occurrence counts in a text of this length. */
export const perOccurrence = (weight: number, length: number, lengthMean: number): number =>
  weight / (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / lengthMean)
/** The same by unit, segment and document. */
export type FieldNorm = (unit: number, segment: number, doc: number) => number
