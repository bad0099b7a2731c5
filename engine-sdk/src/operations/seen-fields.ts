/**
 * The fields that a caller may name and see: a list, reduced by `include_fields` and `exclude_fields` of a scoped key.
 * The same object for equal restrictions, because plans and views of schemas are cached by it.
 */
import { BoundedMap } from "../bounded-map.ts"
import { fieldBoundsOf, seesNothing } from "../query/field-bounds.ts"
import { covers, type FieldBounds, type FieldList, type FieldNames } from "../query/field-list.ts"

/** Memory of parsed restrictions per character of their text. A storefront signs its keys with only a few of them. */
const BYTES_A_CHARACTER = 20
const remembered = new BoundedMap<string, FieldBounds>({
  bytes_max: 16_000_000,
  bytesOf: (text) => 500 + BYTES_A_CHARACTER * text.length
})

const textOf = (value: unknown): string => (value === undefined || value === null ? "" : String(value))

export interface SeenFields {
  /** undefined = all. */
  readonly fields: FieldList | undefined
  /** Whether no field of a collection may be shown, in which case it cannot be joined. */
  readonly hides: (collection: string) => boolean
}

/** `realNameOf`: a collection's own name, given that name or an alias. */
export const seenFieldsOf = (
  {
    embedded,
    fields
  }: { readonly embedded?: Readonly<Record<string, unknown>> | undefined; readonly fields?: FieldNames | undefined },
  realNameOf: (name: string) => string | undefined
): SeenFields => {
  const listed = fields === undefined || fields.length === 0 ? undefined : fields
  const made =
    embedded === undefined
      ? undefined
      : fieldBoundsOf(textOf(embedded.include_fields), textOf(embedded.exclude_fields), listed, realNameOf)
  if (made === undefined) return { fields: listed, hides: () => false }
  let bounds = remembered.get(made.text)
  if (bounds === undefined) remembered.set(made.text, (bounds = made.bounds))
  const { joined } = bounds
  return { fields: bounds, hides: (collection) => seesNothing(joined(collection)) }
}
export const mayName = ({ fields }: SeenFields, name: string): boolean => fields === undefined || covers(fields, name)
