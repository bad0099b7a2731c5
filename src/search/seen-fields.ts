/**
 * The fields that a caller may name and see: the list of its key, and what `include_fields` and `exclude_fields` inside
 * a secured key leave of it. One object for one restriction, because plans and views of schemas are kept by it.
 */
import { BoundedMap } from "../../engine-sdk/src/bounded-map.ts"
import { fieldBoundsOf, seesNothing } from "../../engine-sdk/src/query/field-bounds.ts"
import { covers, type FieldBounds, type FieldList } from "../../engine-sdk/src/query/field-list.ts"
import type { Caller } from "../identity/caller.ts"

/**
 * Different restrictions that are remembered; a storefront signs with some. What was parsed is a few times its text.
 */
const BYTES_A_CHARACTER = 20
const remembered = new BoundedMap<string, FieldBounds>({
  bytes_max: 16_000_000,
  bytesOf: (text) => 500 + BYTES_A_CHARACTER * text.length
})

const textOf = (value: unknown): string => (value === undefined || value === null ? "" : String(value))

export interface SeenFields {
  /** undefined = all. */ readonly fields: FieldList | undefined
  /** False for a collection of which nothing may be shown: it cannot be joined. */ readonly mayJoin: (
    collection: string
  ) => boolean
}

/** `realNameOf`: a collection's own name by it or an alias. */
export const seenFieldsOf = (
  { embedded, key }: Pick<Caller, "embedded"> & { readonly key: Pick<Caller["key"], "fields"> },
  realNameOf: (name: string) => string | undefined
): SeenFields => {
  const listed = key.fields.length === 0 ? undefined : key.fields
  const made =
    embedded === undefined
      ? undefined
      : fieldBoundsOf(textOf(embedded.include_fields), textOf(embedded.exclude_fields), listed, realNameOf)
  if (made === undefined) return { fields: listed, mayJoin: () => true }
  let bounds = remembered.get(made.text)
  if (bounds === undefined) remembered.set(made.text, (bounds = made.bounds))
  const { joined } = bounds
  return { fields: bounds, mayJoin: (collection) => !seesNothing(joined(collection)) }
}
export const mayName = ({ fields }: SeenFields, name: string): boolean => fields === undefined || covers(fields, name)
