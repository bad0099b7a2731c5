/** Which callers may see the queries of others. Pure. */
import type { Caller } from "../identity/caller.ts"

/**
 * Whether a caller sees everything in the collections that it reaches: others' searches may reveal documents that a
 * filter hides, and values that a field list hides. A signed key may restrict in many ways, so every embedded parameter
 * counts.
 */
export const seesWhole = ({
  embedded,
  index,
  key,
  profile
}: Pick<Caller, "embedded" | "index" | "profile"> & {
  readonly key: Pick<Caller["key"], "fields" | "filter_by">
}): boolean =>
  embedded === undefined &&
  profile === undefined &&
  index === undefined &&
  key.fields.length === 0 &&
  Object.keys(key.filter_by).length === 0
