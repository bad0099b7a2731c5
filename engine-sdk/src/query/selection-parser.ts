/** Parses `include_fields` and `exclude_fields` with joins (`docs/contract/documents.md#selected-fields`). */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { JoinInclude, Selection } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { areRelated, refersTo } from "./query-context.ts"
import { closingOf, isUnsigned, nestedListOf } from "./text-scanner.ts"
import { splitOption } from "./geo-filter.ts"
import { parseSortClauses, resolveSort, type SortContext } from "./sort-parser.ts"

const JOIN_DEPTH_MAX = 8
const PSEUDO_FIELDS: ReadonlySet<string> = new Set([
  "out_of",
  "search_time_ms",
  "conversation_history",
  "parsed_nl_query"
])
type Draft = { -readonly [K in keyof JoinInclude]: JoinInclude[K] }
interface ParsedSelection {
  readonly selection: Selection
  readonly excludeOutOf: boolean
  readonly excludeSearchTime: boolean
}

/**
 * Collections that `filter` joins and that no include names are included with all fields. Invalid for unknown
 * collections and strategies. O(text).
 */
export const parseSelection = (
  include: string,
  exclude: string,
  filter: Filter | undefined,
  context: SortContext
): Result<ParsedSelection> => {
  const included = parseIncludes(include, context, 0)
  if (!included.ok) return included
  const excludedFields: string[] = []
  const excludedJoins = new Map<string, ReadonlyArray<string>>()
  for (const item of nestedListOf(exclude)) {
    if (!item.startsWith("$")) {
      excludedFields.push(item)
      continue
    }
    const open = item.indexOf("(")
    const name = (open < 0 ? item.slice(1) : item.slice(1, open)).trim()
    const joined = context.collectionOf(name)
    if (joined === undefined)
      return fail(invalid(`Referenced collection \`${name}\` in \`exclude_fields\` not found.`, "exclude_fields"))
    excludedJoins.set(joined.schema.name, open < 0 ? ["*"] : nestedListOf(item.slice(open + 1, item.lastIndexOf(")"))))
  }
  const joined = joinsOf(filter)
  // As in the reference engine, documents that refer to this one are only included if the filter joins them.
  const joins = included.value.joins
    .filter(
      (join) =>
        refersTo(context.schema, join.collection) || joined.some(({ collection }) => collection === join.collection)
    )
    .map((join) => withExclusion(join, excludedJoins))
  for (const join of joined)
    if (!joins.some(({ collection }) => collection === join.collection)) joins.push(withExclusion(join, excludedJoins))
  const selection: Selection = {
    include: included.value.fields,
    exclude: excludedFields.filter((name) => !PSEUDO_FIELDS.has(name)),
    joins: joins.filter((join) => !(join.exclude ?? []).includes("*"))
  }
  return ok({
    selection,
    excludeOutOf: excludedFields.includes("out_of"),
    excludeSearchTime: excludedFields.includes("search_time_ms")
  })
}
const withExclusion = (join: JoinInclude, excluded: ReadonlyMap<string, ReadonlyArray<string>>): JoinInclude => {
  const fields = excluded.get(join.collection)
  return fields === undefined ? join : { ...join, exclude: fields }
}
/** Complete includes of the collections that a filter joins positively, with the collections that these join. */
const joinsOf = (filter: Filter | undefined): ReadonlyArray<JoinInclude> => {
  if (filter === undefined) return []
  switch (filter.kind) {
    case "and":
    case "or": {
      const left = joinsOf(filter.left)
      return [
        ...left,
        ...joinsOf(filter.right).filter((join) => !left.some(({ collection }) => collection === join.collection))
      ]
    }
    case "join":
      return [{ collection: filter.collection, fields: [], strategy: "nest", joins: joinsOf(filter.filter) }]
    default:
      return []
  }
}

const parseIncludes = (
  text: string,
  context: SortContext,
  depth: number
): Result<{ readonly fields: ReadonlyArray<string>; readonly joins: ReadonlyArray<JoinInclude> }> => {
  const fields: string[] = []
  const joins: JoinInclude[] = []
  for (const item of nestedListOf(text)) {
    if (!item.startsWith("$")) {
      if (item !== "*") fields.push(item)
      continue
    }
    const join = parseJoin(item, context, depth)
    if (!join.ok) return join
    if (join.value !== undefined) joins.push(join.value)
  }
  return ok({ fields, joins })
}
/** Undefined if the collections are not related, because such an include adds nothing. */
const parseJoin = (item: string, context: SortContext, depth: number): Result<JoinInclude | undefined> => {
  const open = item.indexOf("(")
  const close = open < 0 ? -1 : closingOf(item, open)
  if (close < 0 || depth >= JOIN_DEPTH_MAX)
    return fail(
      invalid(
        `Invalid reference \`${item}\` in include_fields/exclude_fields, expected \`$CollectionName(fieldA, ...)\`.`,
        "include_fields"
      )
    )
  const name = item.slice(1, open).trim()
  const joined = context.collectionOf(name)
  if (joined === undefined)
    return fail(invalid(`Referenced collection \`${name}\` in \`include_fields\` not found.`, "include_fields"))
  if (!areRelated(context.schema, joined.schema)) return ok(undefined)
  const alias = /^\s*as\s+(\S+)$/i.exec(item.slice(close + 1))
  const draft: Draft = {
    collection: joined.schema.name,
    fields: [],
    strategy: "nest",
    joins: [],
    ...(alias === null ? {} : { alias: alias[1] })
  }
  const fields: string[] = []
  const nested: JoinInclude[] = []
  for (const part of nestedListOf(item.slice(open + 1, close))) {
    if (part.startsWith("$")) {
      const inner = parseJoin(part, { ...context, schema: joined.schema }, depth + 1)
      if (!inner.ok) return inner
      if (inner.value !== undefined) nested.push(inner.value)
      continue
    }
    if (!part.includes(":")) {
      if (part !== "*") fields.push(part)
      continue
    }
    const error = joinOption(draft, part, { ...context, schema: joined.schema }, item)
    if (error !== undefined) return fail(invalid(error, "include_fields"))
  }
  return ok({ ...draft, fields, joins: nested })
}
const joinOption = (draft: Draft, part: string, context: SortContext, whole: string): string | undefined => {
  const [key, value] = splitOption(part)
  if (key === "strategy") {
    if (value !== "nest" && value !== "nest_array" && value !== "merge")
      return `Error parsing \`${whole}\`: Unknown include strategy \`${value}\`. Valid options are \`merge\`, \`nest\`, \`nest_array\`.`
    draft.strategy = value
  } else if (key === "related_docs_count") draft.relatedDocsCount = value
  else if (key === "limit") {
    if (!isUnsigned(value)) return `Error parsing \`${whole}\`: \`limit\` must be an unsigned integer.`
    draft.limit = Number(value)
  } else if (key === "sort_by") {
    const clauses = parseSortClauses(value)
    const keys = clauses.ok ? resolveSort(clauses.value, context) : clauses
    if (!keys.ok) return `Error parsing \`${whole}\`: ${keys.error.message}`
    draft.sort = keys.value
  } else return `Error parsing \`${whole}\`: Unknown option \`${key}\`.`
  return undefined
}
