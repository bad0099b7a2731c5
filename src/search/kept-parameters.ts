/** Search parameters that are stored for later searches: of suites, of assistants. Pure. */
import type { Issue } from "../http/checks.ts"
import { isObject } from "../http/json-fields.ts"

const PARAMS_MAX = 100
const PARAMS_BYTES_MAX = 16_384
const isCredential = (name: string): boolean => /api[-_]?key$/i.test(name)
const isStorable = (text: string): boolean => !text.includes("\u0000") && text.isWellFormed()

interface ParameterPlace {
  /** Path in the body. */ readonly path: string
  /** What the parameters are of, for messages: "a suite". */ readonly of: string
  /** Parameters that the owner sets itself, or that would cost credits. */ readonly refused: ReadonlySet<string>
}
/** Issues of parameters, with their path in the body. */
export const keptParameterIssues = (
  params: unknown,
  { of, path: at, refused }: ParameterPlace
): ReadonlyArray<Issue> => {
  if (!isObject(params)) return [{ path: at, message: "An object of search parameters" }]
  const names = Object.keys(params)
  if (names.length > PARAMS_MAX) return [{ path: at, message: `At most ${PARAMS_MAX} parameters` }]
  if (Buffer.byteLength(JSON.stringify(params)) > PARAMS_BYTES_MAX)
    return [{ path: at, message: `At most ${PARAMS_BYTES_MAX} bytes of parameters` }]
  return names.flatMap((name) => {
    const value = params[name]
    const path = `${at}.${name.slice(0, 80)}`
    if (refused.has(name) || isCredential(name)) return [{ path, message: `Not a parameter of ${of}` }]
    if (!isStorable(name) || (typeof value === "string" && !isStorable(value)))
      return [{ path, message: "No NUL character and no half surrogate pair" }]
    return ["string", "boolean"].includes(typeof value) || Number.isFinite(value)
      ? []
      : [{ path, message: "A text, a number, true or false" }]
  })
}
