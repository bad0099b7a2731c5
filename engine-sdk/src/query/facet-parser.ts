/**
 * `facet_by`, `facet_query` and `facet_strategy` (`docs/contract/facets.md#grammar`): grammar, wildcards and the
 * validation of ranges and orders against the schema.
 */
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { FacetQuery, FacetRequest, SortOrder } from "../plan.ts"
import type { Field } from "../schema.ts"
import { areRelated, DEFAULT_LIMITS, fieldNamed, searchableFields, type FieldContext } from "./query-context.ts"
import { closingOf, isDecimal, listOf, splitOutside } from "./text-scanner.ts"
import { splitOption } from "./geo-filter.ts"

type FacetStrategy = FacetRequest["strategy"]
type Draft = { -readonly [K in keyof FacetRequest]: FacetRequest[K] }
const refuse = (message: string): Result<never> => fail(invalid(message, "facet_by"))
const unknownFacet = (name: string): Result<never> =>
  fail(notFound(`Could not find a facet field named \`${name}\` in the schema.`))
const isNumeric = (field: Field): boolean => /^(int32|int64|float)(\[\])?$/.test(field.type)
const isString = (field: Field): boolean => field.type === "string" || field.type === "string[]"

/** Parses requests in the order given; the caller sets strategy and parents. O(text + fields). */
export const parseFacets = (
  text: string,
  context: FieldContext,
  joined = false
): Result<ReadonlyArray<FacetRequest>> => {
  if (text.trim() === "") return ok([])
  const facets: FacetRequest[] = []
  for (const item of splitOutside(text, ",")) {
    if (item === "") continue
    const parsed = item.startsWith("$") && !joined ? parseJoined(item, context) : parseItem(item, context)
    if (!parsed.ok) return parsed
    for (const facet of parsed.value)
      if (!facets.some((known) => known.field === facet.field && known.collection === facet.collection))
        facets.push(facet)
  }
  return ok(facets)
}
const draftOf = (field: string): Draft => ({
  field,
  ranges: [],
  order: { kind: "count" },
  topK: false,
  strategy: "automatic",
  returnParent: false
})

const parseJoined = (item: string, context: FieldContext): Result<ReadonlyArray<FacetRequest>> => {
  const open = item.indexOf("(")
  if (open < 0 || closingOf(item, open) !== item.length - 1) return refuse("Invalid facet format.")
  const name = item.slice(1, open).trim()
  const other = context.collectionOf(name)
  if (other === undefined) return refuse(`Error parsing reference facet: Referenced collection \`${name}\` not found.`)
  if (!areRelated(context.schema, other.schema))
    return refuse(`Error parsing reference facet: No reference field found for \`${name}\`.`)
  const inner = parseFacets(item.slice(open + 1, -1), { ...context, schema: other.schema }, true)
  return inner.ok ? ok(inner.value.map((facet) => ({ ...facet, collection: other.schema.name }))) : inner
}

const parseItem = (item: string, context: FieldContext): Result<ReadonlyArray<FacetRequest>> => {
  const open = item.indexOf("(")
  if (open < 0) {
    if (item.includes(")")) return refuse("Invalid facet format.")
    return item.includes("*") ? expand(item, context) : single(item, context, (field) => ok(draftOf(field.name)))
  }
  if (closingOf(item, open) !== item.length - 1) return refuse("Invalid facet format.")
  return single(item.slice(0, open).trim(), context, (field) =>
    withParameters(field, item.slice(open + 1, -1), context)
  )
}
const single = (
  name: string,
  context: FieldContext,
  build: (field: Field) => Result<FacetRequest>
): Result<ReadonlyArray<FacetRequest>> => {
  const field = fieldNamed(context.schema, name)
  if (field === undefined || !field.facet)
    return context.validateFieldNames || field !== undefined ? unknownFacet(name) : ok([])
  const built = build(field)
  return built.ok ? ok([built.value]) : built
}
const expand = (pattern: string, context: FieldContext): Result<ReadonlyArray<FacetRequest>> => {
  if (pattern.indexOf("*") !== pattern.length - 1)
    return fail(notFound("Only prefix matching with a wildcard is allowed."))
  const prefix = pattern.slice(0, -1)
  const names = searchableFields(context.schema)
    .filter((field) => field.facet && field.name.startsWith(prefix))
    .map((field) => field.name)
  if (names.length === 0 && prefix !== "" && context.validateFieldNames)
    return fail(notFound(`Could not find a facet field for \`${pattern}\` in the schema.`))
  return ok(names.map(draftOf))
}

const withParameters = (field: Field, text: string, context: FieldContext): Result<FacetRequest> => {
  const facet = draftOf(field.name)
  const ranges: Array<FacetRequest["ranges"][number]> = []
  for (const part of splitOutside(text, ",")) {
    const [key, value] = splitOption(part)
    if (value.startsWith("[")) {
      const range = rangeOf(field, key, value)
      if (!range.ok) return range
      if (ranges.length >= (context.listItemsMax ?? DEFAULT_LIMITS.list_items_max))
        return refuse(
          `Parameter \`facet_by\`: \`${field.name}\` has too many ranges, at most ${context.listItemsMax ?? DEFAULT_LIMITS.list_items_max} are allowed.`
        )
      ranges.push(range.value)
    } else if (key === "sort_by") {
      const order = orderOf(field, value, context)
      if (!order.ok) return order
      facet.order = order.value
    } else if (key === "top_k") {
      if (value !== "true" && value !== "false") return refuse("top_k string format is invalid.")
      facet.topK = value === "true"
    } else return refuse(`Invalid facet param \`${key}\`.`)
  }
  if (ranges.length === 0) return ok(facet)
  ranges.sort((a, b) => a.from - b.from)
  for (let i = 1; i < ranges.length; i++)
    if (ranges[i].from !== ranges[i - 1].to) return refuse("Ranges in range facet syntax should be continous.")
  facet.ranges = ranges
  return ok(facet)
}
const rangeOf = (field: Field, label: string, value: string): Result<FacetRequest["ranges"][number]> => {
  if (!isNumeric(field)) return refuse("Range facet is restricted to only integer and float fields.")
  if (!field.sort) return refuse("Range facets require sort enabled for the field.")
  if (!value.endsWith("]")) return refuse("Error splitting the facet range values.")
  const bounds = value
    .slice(1, -1)
    .split(",")
    .map((bound) => bound.trim())
  if (bounds.length > 2) return refuse("Error splitting the facet range values.")
  // A single bound gives an empty range, so the facet lists nothing.
  const [from, to = from] = bounds
  if ((from !== "" && !isDecimal(from)) || (to !== "" && !isDecimal(to)))
    return refuse("Facet range value is not valid.")
  return ok({
    label,
    from: from === "" ? Number.NEGATIVE_INFINITY : Number(from),
    to: to === "" ? Number.POSITIVE_INFINITY : Number(to)
  })
}
const orderOf = (field: Field, value: string, context: FieldContext): Result<FacetRequest["order"]> => {
  const colon = value.lastIndexOf(":")
  if (colon < 0) return refuse("Invalid sort format.")
  const name = value.slice(0, colon).trim()
  const order = value
    .slice(colon + 1)
    .trim()
    .toLowerCase()
  if (order !== "asc" && order !== "desc") return refuse("Invalid sort param.")
  if (name === "_alpha")
    return isString(field)
      ? ok({ kind: "alpha", order: order as SortOrder })
      : refuse("Facet field should be string type to apply alpha sort.")
  const sibling = fieldNamed(context.schema, name)
  if (sibling === undefined || !sibling.facet) return unknownFacet(name)
  return isString(sibling)
    ? refuse("Sort field should be non string type to apply sort.")
    : ok({ kind: "field", field: name, order: order as SortOrder })
}

/** Parses one strategy for all facets, or one for each. */
export const parseFacetStrategies = (text: string, facets: number): Result<ReadonlyArray<FacetStrategy>> => {
  const strategies: FacetStrategy[] = []
  for (const item of listOf(text)) {
    if (item !== "automatic" && item !== "exhaustive" && item !== "top_values")
      return fail(invalid(`Invalid facet index type: ${item}`, "facet_strategy"))
    strategies.push(item)
  }
  if (strategies.length > 1 && strategies.length !== facets)
    return fail(invalid("Size of facet_index_type does not match size of facets.", "facet_strategy"))
  return ok(strategies)
}

/** Undefined if nothing restricts the values. */
export const parseFacetQuery = (
  text: string,
  facets: ReadonlyArray<FacetRequest>,
  context: FieldContext,
  numTypos: 0 | 1 | 2
): Result<FacetQuery | undefined> => {
  if (text === "") return ok(undefined)
  if (facets.length === 0)
    return fail(invalid("The `facet_query` parameter is supplied without a `facet_by` parameter.", "facet_query"))
  const colon = text.indexOf(":")
  if (colon < 0) return fail(invalid("Facet query must be in the `facet_field: value` format.", "facet_query"))
  const name = text.slice(0, colon).trim()
  const value = text.slice(colon + 1).trim()
  if (!facets.some((facet) => facet.field === name)) {
    return fail(
      invalid(
        `Facet query refers to a facet field \`${name}\` that is not part of \`facet_by\` parameter.`,
        "facet_query"
      )
    )
  }
  const field = fieldNamed(context.schema, name)
  const tokens = field === undefined ? [] : context.analyzer(context.schema, field).tokenize(value)
  return ok(value === "" ? undefined : { field: name, text: value, tokens, numTypos })
}
