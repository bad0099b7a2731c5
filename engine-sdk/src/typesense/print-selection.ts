/** Prints the shown part of a document as `include_fields` and `exclude_fields`. */
import type { JoinInclude, Selection } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { sortText } from "./print-sort.ts"
import type { SchemaContext } from "./print-filters.ts"
import { Unprintable } from "./refusals.ts"

interface ShownFields {
  readonly include_fields?: string
  readonly exclude_fields?: string
}
export const shownText = (selection: Selection, filter: Filter | undefined, context: SchemaContext): ShownFields => {
  const shown = new Set(selection.joins.map(({ collection }) => collection))
  const include = [...selection.include, ...selection.joins.map((join) => joinText(join, context))]
  const hidden = [...joinedBy(filter)].filter((collection) => !shown.has(collection))
  const exclude = [
    ...selection.exclude,
    ...selection.joins.flatMap(({ collection, exclude: names = [] }) =>
      names.length === 0 ? [] : [`$${collection}(${names.join(", ")})`]
    ),
    // A collection joined by a filter is shown unless it is excluded.
    ...hidden.map((collection) => `$${collection}(*)`)
  ]
  return {
    ...(include.length === 0 ? {} : { include_fields: include.join(",") }),
    ...(exclude.length === 0 ? {} : { exclude_fields: exclude.join(",") })
  }
}
/** Collections that a filter joins positively. */
const joinedBy = (filter: Filter | undefined): ReadonlySet<string> => {
  if (filter?.kind === "and" || filter?.kind === "or")
    return new Set([...joinedBy(filter.left), ...joinedBy(filter.right)])
  return filter?.kind === "join" ? new Set([filter.collection]) : new Set()
}
const joinText = (join: JoinInclude, context: SchemaContext): string => {
  const schema = context.schemaOf(join.collection)
  if (schema === undefined)
    throw new Unprintable("joins", "include_fields", `collection \`${join.collection}\` to join`)
  const own = { ...context, schema }
  const parts = join.fields.length === 0 ? ["*"] : [...join.fields]
  parts.push(...join.joins.map((inner) => joinText(inner, own)))
  if (join.strategy !== "nest") parts.push(`strategy: ${join.strategy}`)
  if (join.relatedDocsCount !== undefined) parts.push(`related_docs_count: ${join.relatedDocsCount}`)
  if (join.sort !== undefined) parts.push(`sort_by: ${sortText(join.sort, own)}`)
  if (join.limit !== undefined) parts.push(`limit: ${join.limit}`)
  return `$${join.collection}(${parts.join(", ")})${join.alias === undefined ? "" : ` as ${join.alias}`}`
}
