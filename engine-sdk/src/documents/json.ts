/**
 * JSON of documents with exact 64-bit integers: beyond 2^53 an integer is a bigint here and plain digits on the wire.
 * The exact reading costs a reviver call per value, so it runs only where the text holds a number that long.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { Document } from "../schema.ts"

const LONG_NUMBER = /\d{16}/
const INTEGER = /^-?\d+$/
type SourceReviver = (key: string, value: unknown, context: { source: string }) => unknown
const parseWithSource = JSON.parse as unknown as (text: string, reviver: SourceReviver) => unknown
const exact: SourceReviver = (_key, value, context) =>
  typeof value === "number" && !Number.isSafeInteger(value) && context.source !== undefined && INTEGER.test(context.source) ? BigInt(context.source) : value

/** Parses any JSON text; throws SyntaxError like JSON.parse. */
export const parseJson = (text: string): unknown => LONG_NUMBER.test(text) ? parseWithSource(text, exact) : JSON.parse(text)

const decoder = new TextDecoder()
/** One document from the text or bytes of a request. Invalid `Bad JSON: …` when it is not a JSON object. Invalid UTF-8 becomes U+FFFD. */
export const parseDocument = (source: string | Uint8Array): Result<Document> => {
  let value: unknown
  try {
    value = parseJson(typeof source === "string" ? source : decoder.decode(source))
  } catch (error) {
    return fail(invalid(`Bad JSON: ${error instanceof Error ? error.message : "syntax error"}`))
  }
  return isObject(value) ? ok(value) : fail(invalid("Bad JSON: not a properly formed document."))
}
export const isObject = (value: unknown): value is { [key: string]: unknown } => typeof value === "object" && value !== null && !Array.isArray(value)

/** JSON text of a value that may hold bigints; they are written as digits. */
export const stringifyJson = (value: unknown): string => {
  if (!holdsBigint(value)) return JSON.stringify(value)
  return writeExact(value)
}
const holdsBigint = (value: unknown): boolean => {
  if (typeof value === "bigint") return true
  if (typeof value !== "object" || value === null) return false
  if (Array.isArray(value)) return value.length > 0 && typeof value[0] !== "number" && typeof value[0] !== "string" ? value.some(holdsBigint) : value.some((item) => typeof item === "bigint" || (typeof item === "object" && holdsBigint(item)))
  for (const key in value) if (holdsBigint((value as Record<string, unknown>)[key])) return true
  return false
}
const writeExact = (value: unknown): string => {
  if (typeof value === "bigint") return value.toString()
  if (Array.isArray(value)) return `[${value.map((item) => item === undefined ? "null" : writeExact(item)).join(",")}]`
  if (isObject(value)) return `{${Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) => `${JSON.stringify(key)}:${writeExact(item)}`).join(",")}}`
  return JSON.stringify(value)
}
