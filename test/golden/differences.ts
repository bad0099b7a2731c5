/**
 * Where this product differs from the recordings on purpose, with the reason. Everything else that disagrees is a defect
 * of somebody.
 */
import type { GoldenRecord } from "./replay.ts"

export interface Difference { readonly reason: string; readonly matches: (record: GoldenRecord) => boolean }
const ids = (...list: ReadonlyArray<string>) => (record: GoldenRecord): boolean => list.includes(record.id)

export const DIFFERENCES: ReadonlyArray<Difference> = [
  { reason: "an integer parameter that is no unsigned integer is refused, cache_ttl too (contract.md part 7)", matches: (record) => /[?&]cache_ttl=[^&]*[^\d&]/.test(record.path) },
  { reason: "a refused document leaves no detected field behind in the schema", matches: ids("q3370.7", "q3372.6") },
  { reason: "stopwords read back in the order they were given; the reference promises no order", matches: ids("q3033.1") },
]
export const differenceOf = (record: GoldenRecord): string | undefined => DIFFERENCES.find((difference) => difference.matches(record))?.reason
