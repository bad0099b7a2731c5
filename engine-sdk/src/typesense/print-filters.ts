/** Prints filters as `filter_by` text that parses to the same filter: words are unstemmed, and joins stay separate. */
import { analyzerOf, type Analyzer, type Dictionaries } from "../analysis/mod.ts"
import type { Filter, StringFilter } from "../filter.ts"
import { fieldNamed, printFilter } from "../query/mod.ts"
import type { CollectionSchema } from "../schema.ts"
import { textOf } from "./print-words.ts"
import { Unprintable } from "./refusals.ts"

export interface SchemaContext {
  readonly schema: CollectionSchema
  /** The schema of a joined collection, by its name in the plan. */
  readonly schemaOf: (collection: string) => CollectionSchema | undefined
  readonly dictionaries: Dictionaries
}

/** O(filter); words that an analyzer might change are analysed again. */
export const filterText = (filter: Filter, context: SchemaContext, parameter = "filter_by"): string => {
  const preparedFilter = prepared(filter, context, parameter)
  try {
    return printFilter(preparedFilter)
  } catch {
    throw new Unprintable("geo_polygon", parameter, "way to say that a place or an element is not like that")
  }
}

const prepared = (filter: Filter, context: SchemaContext, parameter: string): Filter => {
  const inner = (one: Filter): Filter => prepared(one, context, parameter)
  switch (filter.kind) {
    case "and": {
      const left = inner(filter.left),
        right = inner(filter.right)
      // Two adjacent joins of one collection would be read as one that requires a single related document.
      if (right.kind !== "join" || !joins(left, right.collection)) return { ...filter, left, right }
      return { ...filter, left, right: { kind: "and", left: { kind: "all" }, right } }
    }
    case "or":
      return { ...filter, left: inner(filter.left), right: inner(filter.right) }
    case "not":
      return { ...filter, filter: inner(filter.filter) }
    case "element":
      return { ...filter, filter: inner(filter.filter) }
    case "join": {
      const schema = context.schemaOf(filter.collection)
      if (schema === undefined) throw new Unprintable("joins", parameter, `collection \`${filter.collection}\` to join`)
      return { ...filter, filter: prepared(filter.filter, { ...context, schema }, parameter) }
    }
    case "ids":
      for (const id of filter.ids) checkId(id, parameter)
      return filter
    case "string":
      return words(filter, context, parameter)
    default:
      return filter
  }
}
const joins = (filter: Filter, collection: string): boolean =>
  filter.kind === "join"
    ? filter.collection === collection
    : filter.kind === "and" && (joins(filter.left, collection) || joins(filter.right, collection))

/** Whether a list of ids can contain this id. */
export const isListable = (id: string): boolean => id !== "" && id === id.trim() && !id.includes("`")
const checkId = (id: string, parameter: string): void => {
  if (!isListable(id)) throw new Unprintable("stable_scan", parameter, `way to name the id \`${id.slice(0, 100)}\``)
}

const words = (filter: StringFilter, context: SchemaContext, parameter: string): Filter => {
  const field = fieldNamed(context.schema, filter.field)
  const analyzer = field === undefined ? undefined : analyzerOf(context.schema, field, context.dictionaries)
  if (analyzer === undefined) return filter
  const printable = (value: StringFilter["values"][number]): StringFilter["values"][number] => {
    const own: Analyzer = value.match === "phrase" ? analyzer.unstemmed : analyzer
    const text = textOf(value.tokens, own, parameter)
    if (text.includes("`")) throw new Unprintable("text_score_values", parameter, "way to say a backtick")
    return { ...value, tokens: [text] }
  }
  return { ...filter, values: filter.values.map(printable) }
}

/** The number of completions of a prefix that the plan's filters consider; undefined if none sets it. */
export const prefixCandidatesOf = (filter: Filter | undefined): number | undefined => {
  switch (filter?.kind) {
    case "and":
    case "or":
      return prefixCandidatesOf(filter.left) ?? prefixCandidatesOf(filter.right)
    case "not":
    case "element":
    case "join":
      return prefixCandidatesOf(filter.filter)
    case "string":
      return filter.prefixCandidates
    default:
      return undefined
  }
}
