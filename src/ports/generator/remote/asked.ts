/** Builds requests to generative model servers according to their public interfaces. Pure. */
import type { GenerateRequest, GeneratorKind, GeneratorMessage } from "../generator.ts"

interface Asked {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
interface Shape {
  /** Used if no address is named; undefined if one must be named. */ readonly home: string | undefined
  readonly path: string
  readonly credential: (key: string) => Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: (request: GenerateRequest, isStream: boolean) => Readonly<Record<string, unknown>>
}
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const temperatureOf = ({ temperature }: GenerateRequest) => (temperature === undefined ? {} : { temperature })

const openai: Shape = {
  home: "https://api.openai.com",
  path: "/v1/chat/completions",
  credential: bearer,
  headers: {},
  body: (request, isStream) => ({
    model: request.model.model,
    messages: request.messages,
    // The company's newer models refuse the older name, while many other servers do not know the newer one.
    [request.model.url === undefined ? "max_completion_tokens" : "max_tokens"]: request.maxTokens,
    ...temperatureOf(request),
    ...(request.isJson === true ? { response_format: { type: "json_object" } } : {}),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {})
  })
}
const JSON_ALONE = "Answer with one JSON object and with nothing else."
const isSystem = ({ role }: GeneratorMessage): boolean => role === "system"
const anthropic: Shape = {
  home: "https://api.anthropic.com",
  path: "/v1/messages",
  credential: (key) => ({ "x-api-key": key }),
  headers: { "anthropic-version": "2023-06-01" },
  body: (request, isStream) => {
    const system = [
      ...request.messages.filter(isSystem).map(({ content }) => content),
      ...(request.isJson === true ? [JSON_ALONE] : [])
    ].join("\n\n")
    return {
      model: request.model.model,
      max_tokens: request.maxTokens,
      messages: request.messages.filter((message) => !isSystem(message)),
      ...(system === "" ? {} : { system }),
      ...temperatureOf(request),
      ...(isStream ? { stream: true } : {})
    }
  }
}
const ollama: Shape = {
  home: undefined,
  path: "/api/chat",
  credential: bearer,
  headers: {},
  body: (request, isStream) => ({
    model: request.model.model,
    messages: request.messages,
    // The server streams unless this is false.
    stream: isStream,
    ...(request.isJson === true ? { format: "json" } : {}),
    options: { num_predict: request.maxTokens, ...temperatureOf(request) }
  })
}
const shapes: ReadonlyMap<GeneratorKind, Shape> = new Map([
  ["openai", openai],
  ["anthropic", anthropic],
  ["ollama", ollama]
])

/** Completes a base address that may already contain the interface's path or its first part. */
const addressOf = (base: string, path: string): string => {
  const bare = base.replace(/\/+$/, "")
  if (bare.endsWith(path)) return bare
  const [, first] = /^(\/v\d+|\/api)\//.exec(path) ?? []
  return first !== undefined && bare.endsWith(first) ? bare + path.slice(first.length) : bare + path
}

/** Returns undefined if no address is known. */
export const askedOf = (request: GenerateRequest, isStream: boolean): Asked | undefined => {
  const { api_key, keyHeader, kind, path, url } = request.model
  const shape = shapes.get(kind)!
  const base = url ?? shape.home
  if (base === undefined) return undefined
  return {
    url: path === undefined ? addressOf(base, shape.path) : path === "" ? base : base.replace(/\/+$/, "") + path,
    headers: {
      "content-type": "application/json",
      accept: isStream ? "text/event-stream, application/x-ndjson, application/json" : "application/json",
      ...shape.headers,
      ...(api_key === undefined || api_key === ""
        ? {}
        : keyHeader === undefined
          ? shape.credential(api_key)
          : { [keyHeader]: api_key })
    },
    body: JSON.stringify(shape.body(request, isStream))
  }
}
