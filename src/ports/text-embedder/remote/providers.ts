/**
 * Requests to embedding model servers and their answers, according to their public interfaces. Pure: an address,
 * headers and a body for some texts, and the vectors in the answer.
 */
export type Purpose = "query" | "document"

/** A model of a server, as a field or an organization names it. */
export interface RemoteModel {
  readonly kind: RemoteKind
  /** The server's name for the model. */ readonly model: string
  /** Base address; the provider's default if absent. */ readonly url?: string | undefined
  readonly apiKey?: string | undefined
  /** Requested if the model can shorten vectors; answers must have as many. */ readonly dimensions?: number | undefined
}
interface Asked {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}
interface Shape {
  /** Used if no address is named; undefined if one must be named. */ readonly home: string | undefined
  /** Maximum number of texts that the server accepts in one request. */ readonly batchMax: number
  readonly path: string
  readonly body: (model: RemoteModel, texts: ReadonlyArray<string>, purpose: Purpose) => unknown
  /** Unchecked: the caller validates them. */ readonly vectors: (answer: unknown) => ReadonlyArray<unknown> | undefined
}

const own = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined
const listOf = (value: unknown): ReadonlyArray<unknown> | undefined => (Array.isArray(value) ? value : undefined)
/** `data: [{index, embedding}]`, sorted by index. */
const numbered = (answer: unknown): ReadonlyArray<unknown> | undefined => {
  const data = listOf(own(answer, "data"))
  if (data === undefined) return undefined
  const vectors = new Array<unknown>(data.length).fill(undefined)
  data.forEach((item, place) => {
    const index = own(item, "index")
    vectors[typeof index === "number" && index >= 0 && index < data.length ? index : place] = own(item, "embedding")
  })
  return vectors
}
const dimensionsOf = ({ dimensions }: RemoteModel) => (dimensions === undefined ? {} : { dimensions })

export const remoteKinds = ["openai", "jina", "cohere", "ollama", "tei"] as const
/** What `model_name` begins with. */
export type RemoteKind = (typeof remoteKinds)[number]
const openai: Shape = {
  home: "https://api.openai.com",
  batchMax: 128,
  path: "/v1/embeddings",
  body: (model, input) => ({ model: model.model, input, encoding_format: "float", ...dimensionsOf(model) }),
  vectors: numbered
}
const jina: Shape = {
  home: "https://api.jina.ai",
  batchMax: 128,
  path: "/v1/embeddings",
  body: (model, input, purpose) => ({
    model: model.model,
    input,
    task: purpose === "query" ? "retrieval.query" : "retrieval.passage",
    ...dimensionsOf(model)
  }),
  vectors: numbered
}
const cohere: Shape = {
  home: "https://api.cohere.com",
  batchMax: 96,
  path: "/v2/embed",
  body: (model, texts, purpose) => ({
    model: model.model,
    texts,
    input_type: purpose === "query" ? "search_query" : "search_document",
    embedding_types: ["float"],
    truncate: "END",
    ...(model.dimensions === undefined ? {} : { output_dimension: model.dimensions })
  }),
  vectors: (answer) => listOf(own(own(answer, "embeddings"), "float"))
}
const ollama: Shape = {
  home: undefined,
  batchMax: 64,
  path: "/api/embed",
  body: (model, input) => ({ model: model.model, input, truncate: true, ...dimensionsOf(model) }),
  vectors: (answer) => listOf(own(answer, "embeddings"))
}
const tei: Shape = {
  home: undefined,
  batchMax: 32,
  path: "/embed",
  body: (_model, inputs) => ({ inputs, truncate: true, normalize: true }),
  vectors: listOf
}
const shapes: ReadonlyMap<string, Shape> = new Map(Object.entries({ openai, jina, cohere, ollama, tei }))
const shapeOf = (kind: RemoteKind): Shape => shapes.get(kind)!

export const isRemoteKind = (text: string): text is RemoteKind => shapes.has(text)
export const batchMaxOf = (kind: RemoteKind): number => shapeOf(kind).batchMax
export const homeOf = (kind: RemoteKind): string | undefined => shapeOf(kind).home

/** Completes a base address that may already contain the interface's path or its first part. */
const addressOf = (base: string, path: string): string => {
  const bare = base.replace(/\/+$/, "")
  if (bare.endsWith(path)) return bare
  const [, version] = /^(\/v\d+)\//.exec(path) ?? []
  return version !== undefined && bare.endsWith(version) ? bare + path.slice(version.length) : bare + path
}

/** Returns undefined if no address is known. */
export const askedOf = (model: RemoteModel, texts: ReadonlyArray<string>, purpose: Purpose): Asked | undefined => {
  const shape = shapeOf(model.kind)
  const base = model.url ?? shape.home
  if (base === undefined) return undefined
  return {
    url: addressOf(base, shape.path),
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      ...(model.apiKey === undefined || model.apiKey === "" ? {} : { authorization: `Bearer ${model.apiKey}` })
    },
    body: shape.body(model, texts, purpose)
  }
}

/** Returns as many vectors as there were texts, all of one length; a sentence if the answer is invalid. */
export const vectorsIn = (
  model: RemoteModel,
  answer: unknown,
  texts: number,
  dimensions: number | undefined
): ReadonlyArray<Float32Array> | string => {
  const found = shapeOf(model.kind).vectors(answer)
  if (found === undefined) return "answered something that holds no vectors"
  if (found.length !== texts) return `answered ${found.length} vectors for ${texts} texts`
  const vectors: Float32Array[] = []
  for (const item of found) {
    const list = listOf(item)
    if (list === undefined || list.length === 0 || !list.every((x) => typeof x === "number" && Number.isFinite(x)))
      return "answered a vector that is not a list of numbers"
    const wanted = dimensions ?? vectors[0]?.length ?? list.length
    if (list.length !== wanted) return `answered a vector of ${list.length} dimensions, and ${wanted} were expected`
    vectors.push(unit(Float32Array.from(list as number[])))
  }
  return vectors
}
const numberAt = (answer: unknown, ...path: ReadonlyArray<string>): number | undefined => {
  const found = path.reduce(own, answer)
  return typeof found === "number" && Number.isFinite(found) && found >= 0 ? Math.floor(found) : undefined
}
/** Tokens read according to the server; a quarter of the characters if it does not report them. */
export const tokensIn = (answer: unknown, texts: ReadonlyArray<string>): number =>
  numberAt(answer, "usage", "prompt_tokens") ??
  numberAt(answer, "usage", "total_tokens") ??
  numberAt(answer, "meta", "billed_units", "input_tokens") ??
  numberAt(answer, "prompt_eval_count") ??
  texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0)
/** Scales a vector to unit length; zeros stay zeros. */
const unit = (vector: Float32Array): Float32Array => {
  let sum = 0
  for (const x of vector) sum += x * x
  const length = Math.sqrt(sum) || 1
  return vector.map((x) => x / length)
}
