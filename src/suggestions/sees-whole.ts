/** To whom the queries of others may be shown. Pure. */
import type { Caller } from "../identity/caller.ts"

/**
 * Whether a caller sees all of the collections that it reaches: what others searched may tell of documents that a
 * filter hides, and of values that a list of fields does. What is signed into a key may restrict in many ways, so all
 * of it counts.
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
