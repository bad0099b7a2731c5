/** Operations as the OpenAPI documents describe them, with a check of every answer against them. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import type { RawAnswer } from "../raw-http.ts"

export type JsonSchema = Readonly<Record<string, any>>
export interface Described {
  readonly id: string
  readonly method: string
  /** With `{names}`. */ readonly path: string
  readonly scope: string
  readonly plane: string
  readonly query: ReadonlyArray<{ readonly name: string; readonly schema: JsonSchema }>
  readonly body: { readonly isText: boolean; readonly schema: JsonSchema } | undefined
  /** By status; undefined if the answer is text. */
  readonly answers: ReadonlyMap<number, (() => ValidateFunction) | undefined>
  /** May answer a whole page instead of JSON. */ readonly isPage: boolean
  readonly deref: (schema: JsonSchema) => JsonSchema
}

export const describedOf = (documents: ReadonlyArray<any>): ReadonlyArray<Described> =>
  documents.flatMap((document, index) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
    ajv.addSchema({ ...document, $id: `document-${index}` })
    const rebased = (schema: JsonSchema): JsonSchema =>
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"document-${index}#/components`)) as JsonSchema
    // Compiling all answers of all operations takes twenty seconds, and most are never needed.
    const compiled = new Map<string, ValidateFunction>()
    const validating = (schema: JsonSchema) => (): ValidateFunction => {
      const text = JSON.stringify(schema)
      let validate = compiled.get(text)
      if (validate === undefined) compiled.set(text, (validate = ajv.compile(rebased(schema))))
      return validate
    }
    const deref = (schema: JsonSchema): JsonSchema =>
      typeof schema.$ref === "string" ? deref(document.components.schemas[schema.$ref.split("/").pop() ?? ""]) : schema
    return Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, entry]): Described => {
        const content = entry.requestBody?.content ?? {}
        const text = content["text/plain"],
          json = content["application/json"]
        return {
          id: entry.operationId,
          method: method.toUpperCase(),
          path,
          scope: entry["x-scope"],
          plane: entry["x-plane"],
          query: (entry.parameters as ReadonlyArray<any>)
            .filter((parameter) => parameter.in === "query")
            .map(({ name, schema }) => ({ name, schema })),
          body:
            text !== undefined
              ? { isText: true, schema: {} }
              : json !== undefined
                ? { isText: false, schema: json.schema }
                : undefined,
          isPage: Object.values<any>(entry.responses).some(({ content }) => content?.["text/html"] !== undefined),
          answers: new Map(
            Object.entries<any>(entry.responses).map(([status, response]) => {
              const schema = response.content?.["application/json"]?.schema
              return [Number(status), schema === undefined ? undefined : validating(schema)]
            })
          ),
          deref
        }
      })
    )
  })

/** What no answer may reveal: stacks, files, statements, drivers. */
const leaks = [
  /\n\s+at [\w.<>]+/,
  /node_modules/,
  /file:\/\/\/(?!etc)/,
  /\.ts:\d+/,
  /\bSqlError\b/,
  /\bPg(Client|Error)\b/,
  /(SELECT|INSERT INTO|DELETE FROM) [\w"*]+/,
  /violates .* constraint/,
  /invalid byte sequence/,
  /\b(TypeError|RangeError|ReferenceError|SyntaxError)\b/,
  /Cannot read propert/,
  /is not a function/,
  /Maximum call stack/
]

/** The rules for every answer, matched or not; undefined if none is broken. */
export const owedByAll = (answer: RawAnswer, folder: string): string | undefined => {
  if (!/^[\w.:-]{1,128}$/.test(answer.headers["x-request-id"] ?? "")) return "no x-request-id"
  if (answer.headers["access-control-allow-origin"] === undefined) return "no CORS header"
  const leak = leaks.find((pattern) => pattern.test(answer.text))
  // The engine has one 500 of its own, which stock clients expect: an alias named like a collection.
  if (answer.status === 500 && answer.text.includes("Unexpected error.")) return "a defect"
  if (leak !== undefined) return `tells ${String(leak)}`
  if (answer.text.includes(folder)) return "names its data folder"
  if (answer.status >= 400 && answer.text !== "") {
    const body = parsed(answer.text)
    if (body === undefined) return "refuses with something that is not JSON"
    const data = (body.data ?? {}) as Record<string, unknown>
    // The facts of shape B are in `data` and at the top level, and nothing else is.
    if (body.defined !== undefined)
      for (const key of Object.keys(body))
        if (
          !["defined", "code", "status", "message", "data"].includes(key) &&
          JSON.stringify(data[key]) !== JSON.stringify(body[key])
        )
          return `\`${key}\` stands beside \`data\``
    if (body.defined !== undefined && body.status !== answer.status) return "tells another status"
  }
  return undefined
}
const isPage = ({ headers }: RawAnswer): boolean => headers["content-type"]?.startsWith("text/html") === true
const parsed = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** How the answer to an operation departs from its contract; undefined if it does not. */
export const besideContract = (operation: Described, answer: RawAnswer): string | undefined => {
  // A head that the parser refuses never becomes a request of any operation or plane: the server itself answers it.
  if (answer.status === 431)
    return typeof parsed(answer.text)?.message === "string" ? undefined : "431 without a message"
  if (isPage(answer)) return operation.isPage && answer.status < 300 ? undefined : "a page where none is declared"
  if (!operation.answers.has(answer.status)) return `status ${answer.status} is not declared`
  const validate = operation.answers.get(answer.status)?.()
  if (validate === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(answer.text)
  } catch {
    return "not JSON"
  }
  return validate(value)
    ? undefined
    : `${validate.errors?.[0]?.instancePath} ${validate.errors?.[0]?.message} ${JSON.stringify(validate.errors?.[0]?.params)}`
}
