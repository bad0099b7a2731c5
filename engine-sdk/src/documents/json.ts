/**
 * JSON of documents with exact 64-bit integers: beyond 2^53 an integer is a bigint here and plain digits on the wire.
 * Exact parsing costs a reviver call per value, so it is used only if the text contains a number that long.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { Document } from "../schema.ts"

/** An integer of sixteen digits or more as a complete JSON value; fractions are doubles in any case. */
const LONG_NUMBER = /(?:^|[[:,])\s*-?\d{16,}\s*(?:$|[\],}])/
/** Nearly no document contains this, and checking for it is several times cheaper. */
const SIXTEEN_DIGITS = /\d{16}/
const INTEGER = /^-?\d+$/
type SourceReviver = (key: string, value: unknown, context: { source: string }) => unknown
const parseWithSource = JSON.parse as unknown as (text: string, reviver: SourceReviver) => unknown
const exact: SourceReviver = (_key, value, context) =>
  typeof value === "number" &&
  !Number.isSafeInteger(value) &&
  context.source !== undefined &&
  INTEGER.test(context.source)
    ? BigInt(context.source)
    : value

/** Parses any JSON text; throws SyntaxError like JSON.parse. */
export const parseJson = (text: string): unknown =>
  SIXTEEN_DIGITS.test(text) && LONG_NUMBER.test(text) ? parseWithSource(text, exact) : JSON.parse(text)

/** Deeper values would overflow the stack of code that walks them later. */
const DEPTH_MAX = 100
const PLAIN = 0,
  INEXACT = 1,
  TOO_DEEP = 2,
  TOO_LARGE = 3
/**
 * Walks a parsed value once: whether it is too deep or contains a number that is not finite, else whether it contains
 * an integer that a double may have rounded.
 */
const surveyOf = (value: object, depth: number): number => {
  if (depth >= DEPTH_MAX) return TOO_DEEP
  let worst = PLAIN
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      const found = surveyOfItem(item, depth)
      if (found > worst) {
        if (found >= TOO_DEEP) return found
        worst = found
      }
    }
    return worst
  }
  for (const key in value) {
    const found = surveyOfItem((value as Record<string, unknown>)[key], depth)
    if (found > worst) {
      if (found >= TOO_DEEP) return found
      worst = found
    }
  }
  return worst
}
const surveyOfItem = (item: unknown, depth: number): number => {
  if (typeof item === "number")
    return item <= Number.MAX_SAFE_INTEGER && item >= Number.MIN_SAFE_INTEGER
      ? PLAIN
      : Number.isInteger(item)
        ? INEXACT
        : Number.isFinite(item)
          ? PLAIN
          : TOO_LARGE
  return typeof item === "object" && item !== null ? surveyOf(item, depth + 1) : PLAIN
}

/**
 * Longer texts are surveyed before they are parsed: 5 MB of brackets block the parser for a second, whereas surveying
 * them takes milliseconds.
 */
const PARSED_FIRST_MAX = 65_536
/** Maximum objects and lists of one text: a million empty ones are some megabytes as text and a hundred in memory. */
export const CONTAINERS_MAX = 200_000
/** Finds a text that exceeds the bounds before it is parsed, and returns the error. O(characters), no allocation. */
const surveyOfText = (
  text: string,
  depthMax: number,
  containersMax = CONTAINERS_MAX
): "too deep" | "too many" | undefined => {
  let depth = 0,
    containers = 0,
    inString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === 0x5c) i++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > depthMax) return "too deep"
      if (++containers > containersMax) return "too many"
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return undefined
}
const nestsDeeper = (value: unknown, left: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (left === 0) return true
  if (Array.isArray(value)) {
    for (const each of value) if (typeof each === "object" && nestsDeeper(each, left - 1)) return true
    return false
  }
  for (const key in value) {
    const each = (value as Record<string, unknown>)[key]
    if (typeof each === "object" && nestsDeeper(each, left - 1)) return true
  }
  return false
}
/**
 * The only way from a request's text to a value: at most `depthMax` levels and `containersMax` objects and lists. For a
 * text of typical size the bounds cost a tenth of parsing. `parse`: `parseJson` if long integers matter.
 */
export const parseBounded = (
  text: string,
  depthMax = DEPTH_MAX,
  parse: (text: string) => unknown = JSON.parse,
  containersMax = CONTAINERS_MAX
): { readonly value: unknown } | "invalid" | "too deep" | "too many" => {
  const refused = text.length > PARSED_FIRST_MAX ? surveyOfText(text, depthMax, containersMax) : undefined
  if (refused !== undefined) return refused
  try {
    const value = parse(text)
    return nestsDeeper(value, depthMax) ? "too deep" : { value }
  } catch {
    return "invalid"
  }
}

/** A text must contain this for a number in it to parse as infinite. */
const MAY_BE_TOO_LARGE = /[eE]\+?0*[1-9]\d\d|\d{290}/
/** Whether a value parsed from the text contains an infinite number. */
export const holdsTooLarge = (text: string, value: unknown): boolean =>
  MAY_BE_TOO_LARGE.test(text) && surveyOfItem([value], -1) === TOO_LARGE

const TOO_DEEP_TEXT = `Bad JSON: a document may be nested ${DEPTH_MAX} levels deep.`
export const TOO_LARGE_TEXT = "Bad JSON: a number is beyond 1.7e308."
const TOO_MANY_TEXT = `Bad JSON: a document may hold ${CONTAINERS_MAX} objects and lists.`
const decoder = new TextDecoder()
/**
 * Parses one document from the text or bytes of a request. Invalid `Bad JSON: …` if it is not a JSON object. Invalid
 * UTF-8 becomes U+FFFD.
 */
export const parseDocument = (source: string | Uint8Array): Result<Document> => {
  const text = typeof source === "string" ? source : decoder.decode(source)
  let value: unknown,
    survey = PLAIN
  const refused = text.length > PARSED_FIRST_MAX ? surveyOfText(text, DEPTH_MAX) : undefined
  if (refused !== undefined) return fail(invalid(refused === "too deep" ? TOO_DEEP_TEXT : TOO_MANY_TEXT))
  try {
    value = JSON.parse(text)
    if (isObject(value)) survey = surveyOf(value, 0)
    // Integers that were rounded beyond 2^53 are parsed again from their digits.
    if (survey === INEXACT) value = parseWithSource(text, exact)
  } catch (error) {
    return fail(invalid(`Bad JSON: ${error instanceof Error ? error.message : "syntax error"}`))
  }
  if (!isObject(value)) return fail(invalid("Bad JSON: not a properly formed document."))
  if (survey === TOO_LARGE) return fail(invalid(TOO_LARGE_TEXT))
  return survey === TOO_DEEP ? fail(invalid(TOO_DEEP_TEXT)) : ok(value)
}
export const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** JSON text of a value that may contain bigints, which are written as digits. */
export const stringifyJson = (value: unknown): string => {
  // The built-in JSON writer refuses bigints; hardly any value contains one, so we do not search for them first.
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError) || !holdsBigint(value)) throw error
    return writeExact(value)
  }
}
const holdsBigint = (value: unknown): boolean => {
  if (typeof value === "bigint") return true
  if (typeof value !== "object" || value === null) return false
  if (Array.isArray(value))
    return value.length > 0 && typeof value[0] !== "number" && typeof value[0] !== "string"
      ? value.some(holdsBigint)
      : value.some((item) => typeof item === "bigint" || (typeof item === "object" && holdsBigint(item)))
  for (const key in value) if (holdsBigint((value as Record<string, unknown>)[key])) return true
  return false
}
const writeExact = (value: unknown): string => {
  if (typeof value === "bigint") return value.toString()
  if (Array.isArray(value))
    return `[${value.map((item) => (item === undefined ? "null" : writeExact(item))).join(",")}]`
  if (isObject(value))
    return `{${Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => `${JSON.stringify(key)}:${writeExact(item)}`)
      .join(",")}}`
  return JSON.stringify(value)
}
