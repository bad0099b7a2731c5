/**
 * Parses `sort_by` in two steps, because the reference engine validates them at different points
 * (`docs/contract/search.md#order-of-validation`): first the text into clauses, and later each clause against the
 * schema. `docs/contract/sorting.md` has the grammar.
 */
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { Decay, SortKey, SortOrder } from "../plan.ts"
import type { Filter } from "../filter.ts"
import type { ScalarType } from "../schema.ts"
import { parseFilter } from "./filter-parser.ts"
import { metresOf, splitOption } from "./geo-filter.ts"
import { notAllowed } from "./field-list.ts"
import { areRelated, fieldNamed, type FieldContext } from "./query-context.ts"
import { parseVectorQuery } from "./vector-parser.ts"
import { closingOf, isDecimal, isInteger, isUnsigned, splitOutside } from "./text-scanner.ts"

export interface SortClause {
  readonly name: string
  /** Text in parentheses; undefined without them. */ readonly argument: string | undefined
  readonly order: SortOrder
}
const CLAUSES_MAX = 3
const JOIN_DEPTH_MAX = 8
const malformed = (): Result<never> => fail(invalid("Parameter `sort_by` is malformed.", "sort_by"))
const wrongOrder = (name: string): Result<never> =>
  fail(invalid(`Order for field\` ${name}\` should be either ASC or DESC.`, "sort_by"))
const badSyntax = (name: string): Result<never> => fail(invalid(`Bad syntax for sorting field \`${name}\``, "sort_by"))
const unsortable = (name: string): Result<never> =>
  fail(notFound(`Could not find a field named \`${name}\` in the schema for sorting.`))

/** Parses a sort text into clauses. O(text). */
export const parseSortClauses = (text: string): Result<ReadonlyArray<SortClause>> => {
  if (text.trim() === "") return ok([])
  const parts = splitOutside(text, ",")
  const clauses: SortClause[] = []
  for (const [at, part] of parts.entries()) {
    if (part === "") return at > 0 && at === parts.length - 1 ? wrongOrder(clauses[at - 1].name) : malformed()
    const clause = parseSortClause(part)
    if (!clause.ok) return clause
    clauses.push(clause.value)
  }
  return clauses.length > CLAUSES_MAX
    ? fail(invalid(`Only upto ${CLAUSES_MAX} sort fields are allowed.`, "sort_by"))
    : ok(clauses)
}
const parseSortClause = (part: string): Result<SortClause> => {
  const open = part.indexOf("(")
  const firstColon = part.indexOf(":")
  const parenthesised = open >= 0 && (firstColon < 0 || open < firstColon)
  const close = parenthesised ? closingOf(part, open) : -1
  if (parenthesised && close < 0) return malformed()
  if (part.startsWith("$") && parenthesised && part.slice(close + 1).trim() === "")
    return ok({ name: part.slice(0, open).trim(), argument: part.slice(open + 1, close), order: "asc" })
  const colon = parenthesised ? part.indexOf(":", close) : firstColon
  if (colon < 0) return malformed()
  const name = part.slice(0, parenthesised ? open : colon).trim()
  const order = part
    .slice(colon + 1)
    .trim()
    .toLowerCase()
  if (order === "" || name === "") return malformed()
  if (order !== "asc" && order !== "desc") return wrongOrder(name)
  return ok({ name, argument: parenthesised ? part.slice(open + 1, close).trim() : undefined, order })
}

export interface SortContext extends FieldContext {
  readonly now_s: number
  readonly hasVectorQuery: boolean
  readonly isGrouped: boolean
  /** Report the error of an invalid filter inside `_eval`. */ readonly namesErrors?: boolean
}
/** Resolves clauses to sort keys; a clause with a join may give several keys. O(clauses). */
export const resolveSort = (
  clauses: ReadonlyArray<SortClause>,
  context: SortContext,
  depth = 0
): Result<ReadonlyArray<SortKey>> => {
  const keys: SortKey[] = []
  for (const clause of clauses) {
    const key = clause.name.startsWith("$") ? resolveJoin(clause, context, depth) : resolveKey(clause, context)
    if (!key.ok) return key
    keys.push(...(Array.isArray(key.value) ? (key.value as ReadonlyArray<SortKey>) : [key.value as SortKey]))
  }
  if (keys.filter((key) => key.kind === "eval").length > 1)
    return fail(invalid("Only one sorting eval expression is allowed.", "sort_by"))
  return keys.length > CLAUSES_MAX
    ? fail(invalid(`Only upto ${CLAUSES_MAX} sort_by fields can be specified.`, "sort_by"))
    : ok(keys)
}

const resolveJoin = (clause: SortClause, context: SortContext, depth: number): Result<ReadonlyArray<SortKey>> => {
  const name = clause.name.slice(1).trim()
  const joined = context.collectionOf(name)
  if (joined === undefined)
    return fail(invalid(`Referenced collection \`${name}\` in \`sort_by\` not found.`, "sort_by"))
  if (depth >= JOIN_DEPTH_MAX || clause.argument === undefined) return malformed()
  if (!areRelated(context.schema, joined.schema))
    return fail(invalid(`Could not find a reference to \`${name}\` in \`sort_by\`.`, "sort_by"))
  const inner = parseSortClauses(clause.argument)
  if (!inner.ok) return inner
  const keys = resolveSort(inner.value, { ...context, schema: joined.schema }, depth + 1)
  return keys.ok
    ? ok(keys.value.map((key): SortKey => ({ kind: "join", collection: joined.schema.name, key, order: key.order })))
    : keys
}

const resolveKey = (clause: SortClause, context: SortContext): Result<SortKey> => {
  const { name, argument, order } = clause
  switch (name) {
    case "_text_match":
      return blocks("text_match", argument, order)
    case "_vector_distance":
      if (!context.hasVectorQuery)
        return fail(
          notFound("sort_by vector_distance is only supported for vector queries, semantic search and hybrid search.")
        )
      return blocks("vector_distance", argument, order)
    case "_eval":
      return resolveEval(argument ?? "", order, context)
    case "_vector_query":
      return resolveVector(argument ?? "", order, context)
    case "_group_found":
      return context.isGrouped
        ? ok({ kind: "group_found", order })
        : fail(notFound("group_by parameters should not be empty when using sort_by group_found"))
    case "_rand": {
      if (argument === undefined || argument === "") return ok({ kind: "random", seed: context.now_s, order })
      return isUnsigned(argument)
        ? ok({ kind: "random", seed: Number(argument), order })
        : fail(invalid("Only positive integer seed value is allowed.", "sort_by"))
    }
    case "_seq_id":
      return ok({ kind: "seq", order })
    default:
      return resolveField(clause, context)
  }
}
const blocks = (
  kind: "text_match" | "vector_distance",
  argument: string | undefined,
  order: SortOrder
): Result<SortKey> => {
  if (argument === undefined || argument === "") return ok({ kind, order })
  const [key, value] = splitOption(argument)
  const name = kind === "text_match" ? "_text_match" : "_vector_distance"
  if (key !== "buckets" && key !== "bucket_size")
    return fail(invalid(`Invalid sorting parameter passed for ${name}.`, "sort_by"))
  if (!isUnsigned(value))
    return fail(invalid(`Invalid value passed for ${name} \`buckets\` or \`bucket_size\` configuration.`, "sort_by"))
  return ok(key === "buckets" ? { kind, order, buckets: Number(value) } : { kind, order, bucketSize: Number(value) })
}

const evalError = (): Result<never> => fail(invalid("Error parsing eval expression in sort_by clause.", "sort_by"))
const resolveEval = (argument: string, order: SortOrder, context: SortContext): Result<SortKey> => {
  const text = argument.trim()
  if (text === "" || text === "[]") return fail(invalid("The eval expression in sort_by is empty.", "sort_by"))
  const cases: Array<{ filter: Filter; score: number }> = []
  const counting = { ...context, filterValues: { count: 0 } }
  if (!text.startsWith("[")) {
    const filter = parseFilter(text, context)
    if (!filter.ok && context.namesErrors === true)
      return fail(invalid(`Parameter \`sort_by\`: ${filter.error.message}`, "sort_by"))
    if (!filter.ok || filter.value === undefined) return evalError()
    return ok({ kind: "eval", order, cases: [{ filter: filter.value, score: 1 }] })
  }
  if (!text.endsWith("]")) return evalError()
  for (const part of splitOutside(text.slice(1, -1), ",")) {
    const close = part.startsWith("(") ? closingOf(part, 0) : -1
    const score = /^\s*:\s*(\d+)\s*$/.exec(part.slice(close + 1))
    if (close < 0 || score === null) return evalError()
    const filter = parseFilter(part.slice(1, close), counting)
    if (!filter.ok && context.namesErrors === true)
      return fail(invalid(`Parameter \`sort_by\`: ${filter.error.message}`, "sort_by"))
    if (!filter.ok || filter.value === undefined) return evalError()
    cases.push({ filter: filter.value, score: Number(score[1]) })
  }
  return ok({ kind: "eval", order, cases })
}
const resolveVector = (argument: string, order: SortOrder, context: SortContext): Result<SortKey> => {
  const name = argument.slice(0, Math.max(0, argument.indexOf(":"))).trim()
  const field = fieldNamed(context.schema, name)
  if (name !== "" && (field === undefined || field.num_dim === 0))
    return fail(invalid(`Could not find a field named \`${name}\` in vector index.`, "sort_by"))
  const request = parseVectorQuery(argument, context.schema, true)
  if (!request.ok) return request
  if (request.value === undefined) return badSyntax("_vector_query")
  if (request.value.likeId !== undefined && context.hidesIds === true) return fail(notAllowed("id", "sort_by"))
  const { k, queries: _queries, queryWeights: _weights, ...query } = request.value
  return ok({ kind: "vector_query", order, query: { ...query, k: k ?? 0 } })
}

const SORTABLE_SCALARS: ReadonlySet<string> = new Set([
  "string",
  "int32",
  "int64",
  "float",
  "bool",
  "geopoint",
  "geopoint[]"
])
const resolveField = (clause: SortClause, context: SortContext): Result<SortKey> => {
  const { name, argument, order } = clause
  const field = fieldNamed(context.schema, name)
  if (field === undefined || !field.sort || !field.index || !SORTABLE_SCALARS.has(field.type)) return unsortable(name)
  const type = field.type.replace("[]", "") as ScalarType
  if (argument === undefined) return ok({ kind: "field", field: name, type, missing: "normal", order })
  if (type === "geopoint") return resolveGeo(name, argument, order)
  return resolveOptions(name, type, argument, order)
}
const resolveGeo = (name: string, argument: string, order: SortOrder): Result<SortKey> => {
  const parts = splitOutside(argument, ",")
  if (parts.length < 2 || parts.length > 3 || !isDecimal(parts[0]) || !isDecimal(parts[1])) return badSyntax(name)
  let excludeRadius_m = 0
  let precision_m = 0
  if (parts.length === 3) {
    const [key, value] = splitOption(parts[2])
    if (key !== "exclude_radius" && key !== "precision") return badSyntax(name)
    const metres = metresOf(value)
    if (metres === "unit") return fail(invalid("Sort field's parameter unit must be either `km` or `mi`.", "sort_by"))
    if (metres === "number") return badSyntax(name)
    if (metres <= 0) return fail(invalid("Sort field's parameter must be a positive number.", "sort_by"))
    if (key === "precision") precision_m = metres
    else excludeRadius_m = metres
  }
  return ok({
    kind: "geo",
    field: name,
    lat: Number(parts[0]),
    lng: Number(parts[1]),
    excludeRadius_m,
    precision_m,
    order
  })
}
const resolveOptions = (name: string, type: ScalarType, argument: string, order: SortOrder): Result<SortKey> => {
  const options = new Map<string, string>()
  for (const part of splitOutside(argument, ",")) {
    const [key, value] = splitOption(part)
    if (value === "") return badSyntax(name)
    options.set(key, value)
  }
  const missing = options.get("missing_values")
  if (missing !== undefined) {
    if (options.size > 1 || (missing !== "first" && missing !== "last" && missing !== "normal")) return badSyntax(name)
    return ok({ kind: "field", field: name, type, missing, order })
  }
  if (type !== "int32" && type !== "int64" && type !== "float") return badSyntax(name)
  const decay = decayOf(options)
  return decay.ok ? ok({ kind: "field", field: name, type, missing: "normal", order, decay: decay.value }) : decay
}
const decayOf = (options: ReadonlyMap<string, string>): Result<Decay> => {
  const refuse = (message: string): Result<never> => fail(invalid(message, "sort_by"))
  let func: Decay["func"] | undefined
  let origin: number | undefined
  let scale: number | undefined
  let offset = 0
  let decay = 0.5
  for (const [key, value] of options) {
    if (key === "func") {
      if (value !== "gauss" && value !== "exp" && value !== "linear" && value !== "diff")
        return refuse(`Bad syntax. Not a valid decay function key \`${value}\`.`)
      func = value
    } else if (key === "origin") {
      if (!isInteger(value)) return refuse("sort_by: origin param should be integer.")
      origin = Number(value)
    } else if (key === "scale") {
      if (!isInteger(value) || Number(value) === 0) return refuse("sort_by: scale param should be non-zero integer.")
      scale = Number(value)
    } else if (key === "offset") {
      if (!isInteger(value)) return refuse("sort_by: offset param should be integer.")
      offset = Number(value)
    } else if (key === "decay") {
      if (!isDecimal(value) || Number(value) < 0 || Number(value) > 1)
        return refuse("sort_by: decay param should be float in range [0.0, 1.0].")
      decay = Number(value)
    } else return refuse(`Bad syntax. Not a valid decay function key \`${key}\`.`)
  }
  if (func === undefined) return refuse("Bad syntax. Missing param `func`.")
  if (func === "diff")
    return origin === undefined
      ? refuse("Bad syntax. origin param is mandatory for diff function.")
      : ok({ func, origin, scale: scale ?? 1, offset, decay })
  if (origin === undefined || scale === undefined)
    return refuse(`Bad syntax. origin and scale are mandatory params for decay function ${func}`)
  return ok({ func, origin, scale, offset, decay })
}
