/** The OpenAPI 3.1 document of a list of operations: generated, never written by hand. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { errorSchemaOf } from "./error-schemas.ts"
import { isBearer, type Operation, paramsOf, type Scope } from "./operation.ts"

/** Statuses that every operation of a scope can answer (contract part 0, order of refusals). */
const commonStatuses = (scope: Scope): ReadonlyArray<number> => scope === "public" ? [500] : scope === "operator" ? [400, 401, 404, 500] : scope === "console" ? [400, 401, 403, 404, 500] : [400, 401, 402, 403, 429, 500]

const withStatus = <S extends Schema.Top>(schema: S, status: number) => schema.pipe(HttpApiSchema.status(status as 200)) as unknown as Schema.Top

const successOf = (operation: Operation): Schema.Top => {
  if (operation.success.type === "html") return withStatus(Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })), operation.success.status)
  if (operation.success.type === "text") return withStatus(Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain" })), operation.success.status)
  return withStatus(operation.success.schema ?? Schema.Unknown, operation.success.status)
}

const endpointOf = (operation: Operation) => {
  const names = paramsOf(operation.path)
  const statuses = [...new Set([...commonStatuses(operation.scope), ...operation.errors])].sort((a, b) => a - b)
  const make = HttpApiEndpoint.make(operation.method) as unknown as (id: string, path: string, options: Record<string, unknown>) => HttpApiEndpoint.Constraint
  const endpoint = make(operation.id, operation.path, {
    disableCodecs: true,
    ...(names.length === 0 ? {} : { params: Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.String]))) }),
    ...(operation.query === undefined ? {} : { query: operation.query }),
    ...(operation.payload === undefined || operation.method === "GET" ? {} : { payload: operation.payloadType === "jsonl" ? Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain" })) : operation.payload }),
    success: operation.success.created === undefined ? successOf(operation) : [successOf(operation), withStatus(operation.success.schema ?? Schema.Unknown, operation.success.created)],
    error: statuses.map((status) => withStatus(errorSchemaOf(operation.plane), status))
  })
  return (endpoint as unknown as { annotate: (key: unknown, value: string) => unknown }).annotate(OpenApi.Summary, operation.summary)
}

export interface DocumentOptions { readonly title: string; readonly version: string; readonly description: string }

export const openApiOf = (operations: ReadonlyArray<Operation>, options: DocumentOptions): Record<string, unknown> => {
  type Group = { add: (...endpoints: ReadonlyArray<unknown>) => Group }
  let api = HttpApi.make("dowser") as unknown as { add: (group: unknown) => typeof api }
  for (const name of new Set(operations.map((operation) => operation.group))) {
    const group = (HttpApiGroup.make(name) as unknown as Group).add(...operations.filter((operation) => operation.group === name).map(endpointOf))
    api = api.add(group)
  }
  const document = OpenApi.fromApi(api as unknown as HttpApi.Top) as unknown as { paths: Record<string, Record<string, Record<string, unknown>>>; components: Record<string, unknown> } & Record<string, unknown>
  const byPlace = new Map(operations.map((operation) => [`${operation.method.toLowerCase()} ${operation.path.replace(/:([A-Za-z_]+)/g, "{$1}")}`, operation]))
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, entry] of Object.entries(methods)) {
      const operation = byPlace.get(`${method} ${path}`)
      if (operation === undefined) continue
      entry.operationId = operation.id
      entry.security = operation.scope === "public" ? [] : operation.scope === "console" ? [{ bearer: [] }, { session: [] }] : isBearer(operation) ? [{ bearer: [] }] : [{ apiKey: [] }]
      entry["x-scope"] = operation.scope
      entry["x-plane"] = operation.plane
    }
  }
  return {
    ...document,
    info: { title: options.title, version: options.version, description: options.description, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    components: {
      ...document.components,
      securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "X-SVC-API-KEY" }, bearer: { type: "http", scheme: "bearer" }, session: { type: "apiKey", in: "cookie", name: "dowser_session" } }
    }
  }
}
