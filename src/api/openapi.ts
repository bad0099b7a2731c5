/**
 * The OpenAPI 3.1 document of a list of operations, generated and never written by hand. Effect converts the schemas;
 * this file adds what its generator does not know: media types, examples, who may call, and the meaning of each status.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import type { Role } from "../identity/roles.ts"
import { type ErrorSchemas, errorSchemasOf } from "./error-schemas.ts"
import { classOf, type Declared, statusesOf } from "../http/declared.ts"
import { commonRefusals } from "../http/refusals.ts"
import { isBearer, type Operation, paramsOf, paramsSchema } from "../http/operation.ts"

/** Refused at the edge, before the operation is known. */
const HEAD_TOO_LARGE = 431
/** Every error that an operation may return, from its declarations and its scope. */
const failures = ({ errors, payload, query, scope }: Operation): ReadonlyArray<Declared> => [
  ...commonRefusals(scope, payload !== undefined || query !== undefined),
  ...errors
]
const failureStatuses = (operation: Operation): ReadonlyArray<number> => {
  const declared = failures(operation).flatMap(statusesOf)
  return [...new Set(operation.scope === "public" ? [HEAD_TOO_LARGE, ...declared] : declared)].sort((a, b) => a - b)
}

const withStatus = <S extends Schema.Top>(schema: S, status: number) =>
  schema.pipe(HttpApiSchema.status(status as 200)) as unknown as Schema.Top

const isJson = (media: string): boolean => media === "application/json"
/** True even if the body may also have another type. */
const hasJsonBody = ({ payloadMedia, payloadType }: Operation): boolean =>
  payloadType === "json" || (payloadType === "bytes" && payloadMedia.some(isJson))
const answeredStatuses = ({ success }: Operation): ReadonlyArray<number> =>
  success.created === undefined ? [success.status] : [success.status, success.created]

const endpointOf = (errors: ErrorSchemas) => (operation: Operation) => {
  const names = paramsOf(operation.path)
  const make = HttpApiEndpoint.make(operation.method) as unknown as (
    id: string,
    path: string,
    options: Record<string, unknown>
  ) => HttpApiEndpoint.Constraint
  const endpoint = make(operation.id, operation.path, {
    disableCodecs: true,
    ...(names.length === 0
      ? {}
      : {
          params: paramsSchema(operation)
        }),
    ...(operation.query === undefined ? {} : { query: operation.query }),
    ...(operation.payload === undefined || operation.method === "GET"
      ? {}
      : { payload: hasJsonBody(operation) ? operation.payload : Schema.String }),
    success: answeredStatuses(operation).map((status) =>
      withStatus(
        operation.success.media.some(isJson) ? (operation.success.schema ?? Schema.Unknown) : Schema.String,
        status
      )
    ),
    // This status is refused at the edge, before the plane is known.
    error: failureStatuses(operation).map((status) =>
      withStatus(errors[status === HEAD_TOO_LARGE ? "engine" : operation.plane], status)
    )
  })
  return (endpoint as unknown as { annotate: (key: unknown, value: string) => unknown }).annotate(
    OpenApi.Summary,
    operation.summary
  )
}

const sessionOf: ReadonlyMap<Role | undefined, string> = new Map([
  ["member", "any member"],
  ["admin", "an admin or an owner"],
  ["owner", "an owner"]
])
/** Who may call it, as a sentence derived from the scope, so that no written text can contradict it. */
const whoMayCall = ({ id, isAi, plane, scope }: Operation, roles: DocumentOptions["roles"]): string => {
  if (scope === "public") return "No key is needed."
  if (scope === "console")
    return `It takes the operator's token, or the session of ${sessionOf.get(roles.get(id)!)} of the organization.`
  if (scope === "operator") return "It takes the operator's token."
  if (scope === "installation") return "It takes the key of a CMS installation, as a bearer token."
  if (scope === "connector_write") return "It takes a connector's key, as a bearer token."
  if (scope === "full") return "It takes a full key; a search key is answered 403."
  return `${plane === "gateway" ? "It takes a search key of the gateway, as a bearer token." : "A search key suffices, within its restrictions."}${isAi ? " With a search key the header `X-SVC-SESSION-ID` is needed." : ""}`
}

/** The meaning of a status that is the same for all operations. */
const statusSentences: ReadonlyMap<number, string> = new Map([
  [101, "The connection is a WebSocket from now on; each of its text frames is such JSON."],
  [200, "Success."],
  [201, "Created."],
  [202, "Accepted: it goes on after this answer."],
  [302, "The page is elsewhere."],
  [400, "The body, the query or a header is not as it must be; the message names what to change."],
  [401, "No key, or one that is unknown, expired or revoked."],
  [402, "The organization is paused, or its quota or wallet is used up."],
  [403, "The key, the role or the plan does not reach this."],
  [404, "It does not exist."],
  [409, "The current state rules it out; the message names it."],
  [411, "A raw upload without `Content-Length`."],
  [413, "The body is too large."],
  [426, "It is a WebSocket, and the request does not ask for one."],
  [429, "Too many requests, or the month's quota is used up; `Retry-After` says when to come back."],
  [431, "The head of the request is larger than 32 KB."],
  [500, "Unexpected error; the answer has the id of the request."],
  [502, "The search engine did not answer."],
  [503, "Not available at the moment; `Retry-After` says when to come back."],
  [504, "The search took longer than it may."]
])

type Entry = Record<string, unknown> & {
  tags: ReadonlyArray<string>
  parameters?: Array<Record<string, unknown>>
  requestBody?: { content: Record<string, { schema?: unknown; example?: unknown }>; required?: boolean }
  responses: Record<string, { description?: string; content?: Record<string, { schema?: unknown }> }>
}
/** The schema of a body that is not JSON: a text, or bytes. */
const plainSchema = (media: string, description: string | undefined) => ({
  type: "string",
  ...(media.startsWith("text/") || media === "application/x-ndjson" ? {} : { format: "binary" }),
  ...(description === undefined ? {} : { description })
})
const streamed: ReadonlyMap<string, string> = new Map([
  ["application/x-ndjson", "One JSON object per line."],
  ["text/event-stream", "Server-sent events: an `event` and its `data` as JSON, then an empty line."]
])
const schemaFor = (media: string, json: unknown, isLines: boolean): unknown =>
  isJson(media) ? json : plainSchema(media, isLines ? "One JSON object per line." : streamed.get(media))

/** Parameters with the example's values, and the headers of the example. */
const withExamples = (
  parameters: ReadonlyArray<Record<string, unknown>>,
  { example }: Operation
): Array<Record<string, unknown>> => {
  const given = new Map<unknown, Readonly<Record<string, string>> | undefined>([
    ["path", example.params],
    ["query", example.query]
  ])
  const headers = Object.entries(example.headers ?? {}).map(([name, value]) => ({
    name,
    in: "header",
    required: false,
    schema: { type: "string" },
    example: value
  }))
  return [
    ...parameters.map((parameter) => {
      const values = new Map(Object.entries(given.get(parameter.in) ?? {}))
      return values.has(String(parameter.name))
        ? { ...parameter, example: values.get(String(parameter.name)) }
        : parameter
    }),
    ...headers
  ]
}

const complete = (entry: Entry, operation: Operation, { roles }: DocumentOptions): void => {
  entry.operationId = operation.id
  entry.description = `${operation.description} ${whoMayCall(operation, roles)}`
  entry.security =
    operation.scope === "public"
      ? []
      : operation.scope === "console"
        ? [{ bearer: [] }, { session: [] }]
        : isBearer(operation)
          ? [{ bearer: [] }]
          : [{ apiKey: [] }]
  entry["x-scope"] = operation.scope
  entry["x-plane"] = operation.plane
  entry.parameters = withExamples(entry.parameters ?? [], operation)
  if (entry.requestBody !== undefined) {
    const {
      example: { body },
      payloadMedia,
      payloadType
    } = operation
    const schema = Object.values(entry.requestBody.content)[0]?.schema
    entry.requestBody.content = Object.fromEntries(
      payloadMedia.map((media) => [
        media,
        {
          schema: schemaFor(media, schema, payloadType === "jsonl"),
          ...(body === undefined || isJson(media) !== (typeof body !== "string") ? {} : { example: body })
        }
      ])
    )
  }
  for (const [status, answer] of Object.entries(entry.responses)) {
    answer.description = statusSentences.get(Number(status)) ?? answer.description ?? "An answer."
    if (!answeredStatuses(operation).includes(Number(status))) continue
    const schema = Object.values(answer.content ?? {})[0]?.schema ?? {}
    const isLines = operation.success.type === "jsonl" || operation.payloadType === "jsonl"
    answer.content = Object.fromEntries(
      operation.success.media.map((media) => [media, { schema: schemaFor(media, schema, isLines) }])
    )
  }
}

/** Simplifies a union with one member, which is how Effect writes a single literal. */
const plainChoices = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plainChoices)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => [name, plainChoices(one)] as const)
  const { anyOf, ...rest } = Object.fromEntries(entries)
  return Array.isArray(anyOf) && anyOf.length === 1 ? { ...(anyOf[0] as object), ...rest } : Object.fromEntries(entries)
}

export interface DocumentOptions {
  readonly title: string
  readonly version: string
  readonly description: string
  /** Descriptions of the groups of operations, by name; the console's twins have groups of their own. */
  readonly groups: ReadonlyMap<string, string>
  /** The lowest role that may use each console operation. */ readonly roles: ReadonlyMap<string, Role>
}
const TWINS = "console: "
const groupSentence = (groups: DocumentOptions["groups"], name: string): string => {
  const sentence = groups.get(name.startsWith(TWINS) ? name.slice(TWINS.length) : name)
  if (sentence === undefined) throw new Error(`No room explains its group of operations ${name}.`)
  return name.startsWith(TWINS) ? `For the console, by organization: ${sentence}` : sentence
}

const securitySchemes = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "X-SVC-API-KEY",
    description:
      "A key of the organization. Stock clients may send it as `X-TYPESENSE-API-KEY` or as the query parameter `x-typesense-api-key`."
  },
  bearer: { type: "http", scheme: "bearer", description: "The operator's token, or a key of the search gateway." },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "dowser_session",
    description:
      "A member's session, created by `createSession`. Requests that write also carry the header `x-dowser-console: 1`."
  }
} as const

export const openApiOf = (operations: ReadonlyArray<Operation>, options: DocumentOptions): Record<string, unknown> => {
  type Adding = { add: (...endpoints: ReadonlyArray<unknown>) => Adding }
  let api = HttpApi.make("dowser") as unknown as { add: (group: unknown) => typeof api }
  const names = [...new Set(operations.map((operation) => operation.group))]
  const errors = errorSchemasOf(new Set(operations.flatMap(failures).map(classOf)))
  for (const name of names) {
    const group = (HttpApiGroup.make(name) as unknown as Adding).add(
      ...operations.filter((operation) => operation.group === name).map(endpointOf(errors))
    )
    api = api.add(group)
  }
  const document = OpenApi.fromApi(api as unknown as HttpApi.Top) as unknown as {
    paths: Record<string, Record<string, Entry>>
    components: Record<string, unknown>
  } & Record<string, unknown>
  const byPlace = new Map(
    operations.map((operation) => [
      `${operation.method.toLowerCase()} ${operation.path.replace(/:([A-Za-z_]+)/g, "{$1}")}`,
      operation
    ])
  )
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, entry] of Object.entries(methods)) {
      const operation = byPlace.get(`${method} ${path}`)
      if (operation !== undefined) complete(entry, operation, options)
    }
  }
  const used = new Set(
    Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ security }) => (security as ReadonlyArray<object>).flatMap((one) => Object.keys(one)))
  )
  return {
    ...document,
    info: {
      title: options.title,
      version: options.version,
      description: options.description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" }
    },
    servers: [{ url: "/", description: "This installation." }],
    tags: names.map((name) => ({ name, description: groupSentence(options.groups, name) })),
    components: {
      ...(plainChoices(document.components) as object),
      securitySchemes: Object.fromEntries(Object.entries(securitySchemes).filter(([name]) => used.has(name)))
    }
  }
}
