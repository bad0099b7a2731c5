/** Which fields a sort uses, so that a key with a list of fields is restricted to them. Pure. */
import type { Filter, SortKey } from "@dowser/engine-sdk"

export interface NamedField {
  readonly field: string
  /** For a field of a joined collection, its own name. */ readonly collection?: string
}

const within = (collection: string, fields: ReadonlyArray<NamedField>): ReadonlyArray<NamedField> =>
  fields.map((named) => ({ collection, ...named }))

/** O(filter). A document's id is the field `id`; a comparison with an empty list uses no field. */
const fieldsOf = (filter: Filter): ReadonlyArray<NamedField> => {
  switch (filter.kind) {
    case "and":
    case "or":
      return [...fieldsOf(filter.left), ...fieldsOf(filter.right)]
    case "not":
    case "element":
      return fieldsOf(filter.filter)
    case "all":
    case "none":
      return []
    case "ids":
      return [{ field: "id" }]
    case "join":
      return within(filter.collection, fieldsOf(filter.filter))
    case "string":
    case "number":
    case "bool":
    case "geo":
    case "geo_contains":
      return [{ field: filter.field }]
  }
}

export const sortFieldsOf = (key: SortKey): ReadonlyArray<NamedField> => {
  switch (key.kind) {
    case "field":
    case "geo":
      return [{ field: key.field }]
    case "eval":
    case "boosts":
      return key.cases.flatMap(({ filter }) => fieldsOf(filter))
    case "vector_query":
      return [{ field: key.query.field }]
    case "join":
      return within(key.collection, sortFieldsOf(key.key))
    case "text_match":
    case "vector_distance":
    case "group_found":
    case "random":
    case "seq":
    case "listed":
      return []
  }
}
