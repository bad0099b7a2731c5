/**
 * Parses `filter_by` to a filter tree (`docs/contract/filters.md`): first the structure, then each clause by the type
 * of its field. Operators have equal precedence and are left-associative. Cost is bounded by the number of operations,
 * the depth of joins, and linear scanning.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { Filter, NumberFilter, StringFilter } from "../filter.ts"
import type { Field } from "../schema.ts"
import { areRelated, DEFAULT_LIMITS, fieldNamed, type FieldContext } from "./query-context.ts"
import { closingsOf, isDecimal, isInteger } from "./text-scanner.ts"
import { parseGeo, parsePolygonPoint } from "./geo-filter.ts"
import { commasOf, isList, itemsOf, negate, operandsOf, operatorOf, wrong } from "./filter-values.ts"

const JOIN_DEPTH_MAX = 8
const NESTING_MAX = 100

type Token = { readonly kind: "(" | ")" | "&&" | "||" } | { readonly kind: "clause"; readonly text: string }

/**
 * Parses a filter text; undefined for an empty text. Failures are Invalid with the reference engine's messages.
 * O(text). `depth`: number of joins around the text.
 */
export const parseFilter = (text: string, context: FieldContext, depth = 0): Result<Filter | undefined> => {
  if (text.trim() === "") return ok(undefined)
  if (context.filterValues === undefined) return parseFilter(text, { ...context, filterValues: { count: 0 } }, depth)
  const tokens = tokenize(text)
  if (!tokens.ok) return tokens
  const operations = checkOperations(tokens.value, context)
  if (!operations.ok) return operations
  return assemble(tokens.value, (clause) => parseClause(clause, context, depth))
}

const checkOperations = (tokens: ReadonlyArray<Token>, context: FieldContext): Result<undefined> => {
  const operations = tokens.reduce((count, token) => count + (token.kind === "(" || token.kind === ")" ? 0 : 1), 0)
  if (operations <= context.filterOperationsMax) return ok(undefined)
  return fail(
    invalid(
      `\`filter_by\` has too many operations. Maximum allowed: ${context.filterOperationsMax}. Use \`--filter-by-max-ops\` command line argument to customize this value.`,
      "filter_by"
    )
  )
}
/** Counts values before they are parsed. A point of a polygon counts as one value. */
const checkValues = (count: number, context: FieldContext): Result<undefined> => {
  const counted = context.filterValues,
    most = context.filterValuesMax ?? DEFAULT_LIMITS.filter_values_max
  if (counted !== undefined) counted.count += count
  return (counted?.count ?? count) <= most
    ? ok(undefined)
    : fail(invalid(`\`filter_by\` has too many values. Maximum allowed: ${most}.`, "filter_by"))
}

const tokenize = (text: string): Result<Token[]> => {
  const tokens: Token[] = []
  const closings = closingsOf(text)
  let i = 0
  while (i < text.length) {
    const character = text[i]
    if (character === " " || character === "\n" || character === "\t" || character === "\r") {
      i++
      continue
    }
    if (character === "(" || character === ")") {
      tokens.push({ kind: character })
      i++
      continue
    }
    if (character === "&" || character === "|") {
      if (text[i + 1] !== character) return fail(invalid("Could not parse the filter filter_query.", "filter_by"))
      tokens.push({ kind: character === "&" ? "&&" : "||" })
      i += 2
      continue
    }
    const isJoin = character === "$" || (character === "!" && text[i + 1] === "$")
    const end = isJoin ? joinEnd(text, i, closings) : clauseEnd(text, i, closings)
    if (end < 0)
      return fail(
        invalid(
          isJoin
            ? `Could not parse the reference filter: \`${text.slice(i)}\`.`
            : "Could not parse the object filter: unbalanced curly braces.",
          "filter_by"
        )
      )
    tokens.push({ kind: "clause", text: text.slice(i, end).trim() })
    i = end
  }
  return ok(tokens)
}
const joinEnd = (text: string, start: number, closings: Int32Array): number => {
  const open = text.indexOf("(", start)
  const close = open < 0 ? -1 : closings[open]
  return close < 0 ? -1 : close + 1
}
/**
 * Where a clause ends: at a parenthesis or double operator outside backticks, geo values, lists and braces. -1 if
 * braces are not closed.
 */
const clauseEnd = (text: string, start: number, closings: Int32Array): number => {
  let quoted = false
  let colonBefore = false
  for (let i = start; i < text.length; i++) {
    const character = text[i]
    if (character === "`") {
      quoted = !quoted
      colonBefore = false
      continue
    }
    if (quoted) continue
    if (character === "{" && text[i - 1] === ".") {
      const close = closings[i]
      if (close < 0) return -1
      i = close
      continue
    }
    if ((character === "(" || character === "[") && colonBefore) {
      const close = closings[i]
      if (close < 0) {
        if (character === "(") return i
        colonBefore = false
        continue
      }
      i = close
      colonBefore = false
      continue
    }
    if (character === "(" || character === ")") return i
    if ((character === "&" || character === "|") && text[i + 1] === character) return i
    if (character === ":") colonBefore = true
    else if (character !== " " && character !== "=" && character !== "!") colonBefore = false
  }
  return text.length
}

/** Builds the tree by the shunting-yard algorithm with one precedence. */
const assemble = (
  tokens: ReadonlyArray<Token>,
  clause: (text: string) => Result<Filter>
): Result<Filter | undefined> => {
  const operands: Filter[] = []
  const operators: Array<"(" | "&&" | "||"> = []
  let nesting = 0
  const reduce = (operator: "&&" | "||"): string | undefined => {
    const right = operands.pop()
    const left = operands.pop()
    if (left === undefined || right === undefined)
      return `Could not parse the filter query: unbalanced \`${operator}\` operands.`
    operands.push(operator === "&&" ? conjunction(left, right) : { kind: "or", left, right })
    return undefined
  }
  const balance = balanceOf(tokens)
  if (balance !== undefined) return fail(invalid(balance, "filter_by"))
  for (const token of tokens) {
    if (token.kind === "clause") {
      const parsed = clause(token.text)
      if (!parsed.ok) return parsed
      operands.push(parsed.value)
    } else if (token.kind === "(") {
      if (++nesting > NESTING_MAX)
        return fail(invalid("Could not parse the filter query: unbalanced parentheses.", "filter_by"))
      operators.push("(")
    } else if (token.kind === ")") {
      nesting--
      for (let operator = operators.pop(); operator !== "("; operator = operators.pop()) {
        const error =
          operator === undefined ? "Could not parse the filter query: unbalanced parentheses." : reduce(operator)
        if (error !== undefined) return fail(invalid(error, "filter_by"))
      }
    } else {
      for (let top = operators.at(-1); top !== undefined && top !== "("; top = operators.at(-1)) {
        operators.pop()
        const error = reduce(top)
        if (error !== undefined) return fail(invalid(error, "filter_by"))
      }
      operators.push(token.kind)
    }
  }
  for (let operator = operators.pop(); operator !== undefined; operator = operators.pop()) {
    const error = operator === "(" ? "Could not parse the filter query: unbalanced parentheses." : reduce(operator)
    if (error !== undefined) return fail(invalid(error, "filter_by"))
  }
  if (operands.length === 0) return fail(invalid("Filter query cannot be empty.", "filter_by"))
  return operands.length === 1 ? ok(operands[0]) : fail(invalid("Could not parse the filter query.", "filter_by"))
}
/** Two joins of one collection combined by AND require one related document that passes both. */
const conjunction = (left: Filter, right: Filter): Filter => {
  if (right.kind !== "join") return { kind: "and", left, right }
  return mergedJoin(left, right) ?? { kind: "and", left, right }
}
const mergedJoin = (left: Filter, join: Filter & { readonly kind: "join" }): Filter | undefined => {
  if (left.kind === "join")
    return left.collection === join.collection
      ? { ...left, filter: { kind: "and", left: left.filter, right: join.filter } }
      : undefined
  if (left.kind !== "and") return undefined
  const inRight = mergedJoin(left.right, join)
  if (inRight !== undefined) return { ...left, right: inRight }
  const inLeft = mergedJoin(left.left, join)
  return inLeft === undefined ? undefined : { ...left, left: inLeft }
}
/** The structure is checked before clauses, so that a lone operator is reported even if a clause is also invalid. */
const balanceOf = (tokens: ReadonlyArray<Token>): string | undefined => {
  let open = 0
  let expectsOperand = true
  let lastOperator = "&&"
  for (const token of tokens) {
    if (token.kind === "(") {
      open++
      continue
    }
    if (token.kind === ")") {
      if (--open < 0) return "Could not parse the filter query: unbalanced parentheses."
      continue
    }
    if (token.kind === "clause") {
      expectsOperand = false
      continue
    }
    if (expectsOperand) return `Could not parse the filter query: unbalanced \`${token.kind}\` operands.`
    lastOperator = token.kind
    expectsOperand = true
  }
  if (open > 0) return "Could not parse the filter query: unbalanced parentheses."
  return expectsOperand && tokens.some((token) => token.kind !== "(" && token.kind !== ")")
    ? `Could not parse the filter query: unbalanced \`${lastOperator}\` operands.`
    : undefined
}

const parseClause = (text: string, context: FieldContext, depth: number): Result<Filter> => {
  if (text.startsWith("$") || text.startsWith("!$")) return parseJoin(text, context, depth)
  const brace = text.indexOf(".{")
  const colon = text.indexOf(":")
  if (brace > 0 && (colon < 0 || brace < colon)) return parseElement(text, brace, context, depth)
  if (colon < 0) return fail(invalid("Could not parse the filter query.", "filter_by"))
  const name = text.slice(0, colon).trim()
  const raw = text.slice(colon + 1).trim()
  // Values are counted by commas, including any within a quoted value.
  const values = checkValues(1 + commasOf(raw), context)
  if (!values.ok) return values
  if (name === "id" && (context.hidesIds !== true || raw === "*")) return parseIds(raw)
  const field = fieldNamed(context.schema, name)
  if (field === undefined)
    return context.validateFieldNames
      ? fail(invalid(`Could not find a filter field named \`${name}\` in the schema.`, "filter_by"))
      : ok({ kind: "none" })
  if (field.num_dim > 0) return fail(invalid(`Cannot filter on vector field \`${name}\`.`, "filter_by"))
  if (!field.index) return fail(invalid(`Cannot filter on non-indexed field \`${name}\`.`, "filter_by"))
  if (raw === "") return wrong(name, "Filter value cannot be empty.")
  switch (field.type) {
    case "int32":
    case "int64":
    case "float":
    case "int32[]":
    case "int64[]":
    case "float[]":
      return parseNumbers(field, raw)
    case "bool":
    case "bool[]":
      return parseBooleans(field, raw)
    case "geopoint":
    case "geopoint[]":
      return parseGeo(field, raw)
    case "geopolygon":
      return parsePolygonPoint(field, raw)
    case "string":
    case "string[]":
      return parseStrings(field, raw, context)
    default:
      return fail(invalid("Unidentified field data type, see docs for supported data types.", "filter_by"))
  }
}
const parseJoin = (text: string, context: FieldContext, depth: number): Result<Filter> => {
  const negated = text.startsWith("!")
  const open = text.indexOf("(")
  const name = text.slice(negated ? 2 : 1, open).trim()
  const inner = text.slice(open + 1, -1)
  if (depth >= JOIN_DEPTH_MAX || name === "" || inner.trim() === "")
    return fail(invalid(`Could not parse the reference filter: \`${text}\`.`, "filter_by"))
  const joined = context.collectionOf(name)
  if (joined === undefined) return fail(invalid(`Referenced collection \`${name}\` not found.`, "filter_by"))
  if (!areRelated(context.schema, joined.schema))
    return fail(invalid(`Failed to join on \`${name}\`: No reference field found.`, "filter_by"))
  const filter = parseFilter(
    inner,
    {
      ...context,
      schema: joined.schema,
      hidesIds: context.hidesIdsOf?.(joined.schema.name) ?? context.hidesIds === true
    },
    depth + 1
  )
  if (!filter.ok) return fail(invalid(`Failed to join on \`${name}\` collection: ${filter.error.message}`, "filter_by"))
  return ok(negate({ kind: "join", collection: joined.schema.name, filter: filter.value ?? { kind: "all" } }, negated))
}

const parseElement = (text: string, brace: number, context: FieldContext, depth: number): Result<Filter> => {
  const path = text.slice(0, brace).trim()
  const inner = text.slice(brace + 2)
  if (!inner.endsWith("}"))
    return fail(invalid("Could not parse the object filter: unbalanced curly braces.", "filter_by"))
  const body = inner.slice(0, -1)
  if (body.includes(".{")) return fail(invalid("Nested object filters are not supported.", "filter_by"))
  const tokens = tokenize(body)
  if (!tokens.ok) return tokens
  const operations = checkOperations(tokens.value, context)
  if (!operations.ok) return operations
  const filter = assemble(tokens.value, (clause) =>
    clause.startsWith("$") || clause.startsWith("!$")
      ? fail(invalid("Could not parse the filter query.", "filter_by"))
      : parseClause(`${path}.${clause}`, context, depth)
  )
  if (!filter.ok) return filter
  return filter.value === undefined
    ? fail(invalid("Filter query cannot be empty.", "filter_by"))
    : ok({ kind: "element", path, filter: filter.value })
}

const parseIds = (raw: string): Result<Filter> => {
  const { negated, rest } = operatorOf(raw)
  if (rest === "") return wrong("id", "Filter value cannot be empty.")
  if (rest === "*") return ok(negated ? { kind: "none" } : { kind: "all" })
  const items = isList(rest) ? itemsOf(rest) : [rest]
  const ids: string[] = []
  for (const item of items) {
    const id = item.replaceAll("`", "").trim()
    if (id === "") return wrong("id", "Filter value cannot be empty.")
    ids.push(id)
  }
  if (ids.length === 0) return ok({ kind: negated ? "all" : "none" })
  return ok(negate({ kind: "ids", ids }, negated))
}

const parseStrings = (field: Field, raw: string, context: FieldContext): Result<Filter> => {
  const { negated, equals, items } = operandsOf(raw)
  if (items.length === 0) return ok({ kind: negated ? "all" : "none" })
  const values: Array<StringFilter["values"][number]> = []
  const analyzer = context.analyzer(context.schema, field)
  for (const item of items) {
    const quoted = item.startsWith("`") && item.endsWith("`") && item.length > 1
    const plain = item.replaceAll("`", "").trim()
    const phrase = !quoted && plain.length > 1 && plain.startsWith('"') && plain.endsWith('"')
    const prefix = !quoted && !phrase && plain.endsWith("*")
    const tokens = (phrase ? analyzer.unstemmed : analyzer).tokenize(prefix ? plain.slice(0, -1) : plain)
    if (tokens.length === 0) return wrong(field.name, "Filter value cannot be empty.")
    values.push({ tokens, match: phrase ? "phrase" : equals ? "equals" : "contains", prefix })
  }
  return ok(negate({ kind: "string", field: field.name, values, prefixCandidates: context.prefixCandidates }, negated))
}

// ---- numbers --------------------------------------------------------------------------------------------------------

type Range = NumberFilter["ranges"][number]
const INT32_MAX = 2_147_483_647
const INT64_MAX = 9_223_372_036_854_775_807n
const parseNumbers = (field: Field, raw: string): Result<Filter> => {
  const type = field.type.replace("[]", "") as NumberFilter["type"]
  const { negated, items } = operandsOf(raw)
  if (items.length === 0) return ok({ kind: negated ? "all" : "none" })
  const ranges: Range[] = []
  for (const item of items) {
    const parsed = rangesOf(field.name, type, item)
    if (!parsed.ok) return parsed
    ranges.push(...parsed.value)
  }
  return ok(negate({ kind: "number", field: field.name, type, ranges }, negated))
}
const rangesOf = (name: string, type: NumberFilter["type"], item: string): Result<ReadonlyArray<Range>> => {
  if (item === "") return wrong(name, "Filter value cannot be empty.")
  const comparison = /^(<=|>=|!=|<|>|=)?([\s\S]*)$/.exec(item)
  const operator = comparison?.[1] ?? ""
  const text = (comparison?.[2] ?? "").trim()
  if (operator === "" && text.includes("..")) return rangeOf(name, type, text)
  if (operator === "" && !isDecimal(text)) return wrong(name, "Numerical field has an invalid comparator.")
  const value = numberOf(name, type, text)
  if (!value.ok) return value
  const [min, max] = boundsOf(type)
  switch (operator) {
    case "<":
      return ok([{ min, max: value.value, maxOpen: true }])
    case "<=":
      return ok([{ min, max: value.value }])
    case ">":
      return ok([{ min: value.value, max, minOpen: true }])
    case ">=":
      return ok([{ min: value.value, max }])
    case "!=":
      return ok([
        { min, max: value.value, maxOpen: true },
        { min: value.value, max, minOpen: true }
      ])
    default:
      return ok([{ min: value.value, max: value.value }])
  }
}
const rangeOf = (name: string, type: NumberFilter["type"], text: string): Result<ReadonlyArray<Range>> => {
  const at = text.indexOf("..")
  const min = numberOf(name, type, text.slice(0, at).trim())
  if (!min.ok) return min
  const max = numberOf(name, type, text.slice(at + 2).trim())
  return max.ok ? ok([{ min: min.value, max: max.value }]) : max
}
const boundsOf = (type: NumberFilter["type"]): readonly [number | bigint, number | bigint] =>
  type === "int32"
    ? [-INT32_MAX - 1, INT32_MAX]
    : type === "int64"
      ? [-INT64_MAX - 1n, INT64_MAX]
      : [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
const numberOf = (name: string, type: NumberFilter["type"], text: string): Result<number | bigint> => {
  if (type === "float") return isDecimal(text) ? ok(Number(text)) : wrong(name, "Not a float.")
  if (!isInteger(text) || text.length > 64)
    return wrong(name, isInteger(text) ? `\`${text}\` exceeds the range of an ${type}.` : `Not an ${type}.`)
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text)
  const limit = type === "int32" ? BigInt(INT32_MAX) : INT64_MAX
  if (value > limit || value < -limit - 1n) return wrong(name, `\`${text}\` exceeds the range of an ${type}.`)
  const number = Number(value)
  return ok(Number.isSafeInteger(number) ? number : value)
}

const parseBooleans = (field: Field, raw: string): Result<Filter> => {
  const { negated, list, items } = operandsOf(raw)
  if (items.length === 0) return ok({ kind: negated ? "all" : "none" })
  const values: boolean[] = []
  for (const item of items) {
    if (item !== "true" && item !== "false")
      return fail(
        invalid(
          `${list ? "Values" : "Value"} of filter field \`${field.name}\` must be \`true\` or \`false\`.`,
          "filter_by"
        )
      )
    values.push(item === "true")
  }
  return ok(negate({ kind: "bool", field: field.name, values }, negated))
}

/** The conjunction of the filters that are defined. */
export const allOf = (...filters: ReadonlyArray<Filter | undefined>): Filter | undefined => {
  let all: Filter | undefined
  for (const filter of filters)
    if (filter !== undefined) all = all === undefined ? filter : { kind: "and", left: all, right: filter }
  return all
}
/** Whether a text closes every backtick and bracket that it opens, so that it cannot absorb text after it. O(text). */
export const isClosedFilterText = (text: string): boolean => {
  const open: string[] = []
  let quoted = false
  for (const character of text) {
    if (character === "`") quoted = !quoted
    else if (quoted) continue
    else if (character === "(") open.push(")")
    else if (character === "[") open.push("]")
    else if (character === "{") open.push("}")
    else if ((character === ")" || character === "]" || character === "}") && open.pop() !== character) return false
  }
  return !quoted && open.length === 0
}
/**
 * Joins two filter texts as every merge step does (`docs/contract/search.md#restrictions-and-merging`). A text that
 * does not close what it opens is refused, because it could absorb the other one.
 */
export const joinFilterTexts = (first: string | undefined, second: string | undefined): Result<string | undefined> => {
  if (first === undefined || second === undefined) return ok(first ?? second)
  if (first.trim() === "") return ok(second.trim() === "" ? "" : `(${second})`)
  if (second.trim() === "") return ok(first)
  if (!isClosedFilterText(first) || !isClosedFilterText(second))
    return fail(invalid("Could not parse the filter query: unbalanced parentheses.", "filter_by"))
  return ok(`(${first}) && (${second})`)
}
