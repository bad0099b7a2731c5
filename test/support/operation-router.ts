/**
 * Maps paths of the tenant API to operations of the engine plane, in process and without access control: the golden
 * lane and engine tests send requests to it. Bodies and answers are texts, as on the wire.
 */
import { stringifyJson } from "../../engine-sdk/src/documents/mod.ts"
import { fail, notFound, statusOf, type Result } from "../../engine-sdk/src/errors.ts"
import * as operations from "../../engine-sdk/src/operations/mod.ts"
import type { Answer, OperationContext, StreamAnswer } from "../../engine-sdk/src/operations/mod.ts"

interface WireAnswer {
  readonly status: number
  readonly text: string
}
export type WireCall = (method: string, path: string, body?: string) => Promise<WireAnswer>

const encoder = new TextEncoder()
async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield encoder.encode(text)
}

/** A caller over a context without its clock; requests run in sequence or concurrently. */
export const routerOver =
  (context: Omit<OperationContext, "now_s">): WireCall =>
  async (method, path, body = "") => {
    const url = new URL(path, "http://in-process")
    const segments = url.pathname
      .split("/")
      .filter((segment) => segment !== "")
      .map(decodeURIComponent)
    const parameters = Object.fromEntries(url.searchParams)
    const result = await route(
      { ...context, now_s: Math.floor(Date.now() / 1_000) },
      method,
      segments,
      parameters,
      body,
      url.search.length
    )
    if (!result.ok) return { status: statusOf(result.error), text: JSON.stringify({ message: result.error.message }) }
    if ("lines" in result.value) {
      let text = ""
      for await (const chunk of result.value.lines) text += chunk
      return { status: result.value.status, text }
    }
    return { status: result.value.status, text: result.value.text ?? stringifyJson(result.value.body) }
  }

const QUERY_STRING_BYTES_MAX = 4_000
const NOT_FOUND = fail(notFound("Not Found"))
type Routed = Result<Answer> | Result<StreamAnswer>
const route = async (
  context: OperationContext,
  method: string,
  segments: ReadonlyArray<string>,
  parameters: Record<string, string>,
  body: string,
  queryLength: number
): Promise<Routed> => {
  const [first, name, third, fourth] = segments
  switch (first) {
    case "collections":
      if (name === undefined)
        return method === "GET"
          ? operations.listCollections(context, parameters)
          : operations.createCollection(context, body, parameters)
      if (third === "documents") return documentRoute(context, method, name, fourth, parameters, body, queryLength)
      if (method === "GET") return operations.getCollection(context, name)
      return method === "PATCH"
        ? operations.updateCollection(context, name, body)
        : operations.deleteCollection(context, name)
    case "multi_search":
      return operations.multiSearch(context, body, parameters)
    case "aliases":
      if (name === undefined) return operations.listAliases(context)
      if (method === "GET") return operations.getAlias(context, name)
      return method === "PUT" ? operations.upsertAlias(context, name, body) : operations.deleteAlias(context, name)
    case "presets":
      if (name === undefined) return operations.listPresets(context)
      if (method === "GET") return operations.getPreset(context, name)
      return method === "PUT" ? operations.upsertPreset(context, name, body) : operations.deletePreset(context, name)
    case "stopwords":
      if (name === undefined) return operations.listStopwords(context)
      if (method === "GET") return operations.getStopwords(context, name)
      return method === "PUT"
        ? operations.upsertStopwords(context, name, body)
        : operations.deleteStopwords(context, name)
    case "synonym_sets":
      return setsRoute(operations.synonymSets, context, method, segments, parameters, body)
    case "curation_sets":
      return setsRoute(operations.curationSets, context, method, segments, parameters, body)
    case "stemming":
      if (third === "import") return operations.importStemmingDictionary(context, body, parameters)
      if (third === undefined) return operations.listStemmingDictionaries(context)
      return method === "GET"
        ? operations.getStemmingDictionary(context, third)
        : operations.deleteStemmingDictionary(context, third)
    case "operations":
      return name === "schema_changes" ? { ok: true, value: { status: 200, body: [] } } : NOT_FOUND
    default:
      return NOT_FOUND
  }
}
const documentRoute = async (
  context: OperationContext,
  method: string,
  collection: string,
  id: string | undefined,
  parameters: Record<string, string>,
  body: string,
  queryLength: number
): Promise<Routed> => {
  if (id === undefined) {
    if (method === "POST") return operations.createDocument(context, collection, body, parameters)
    return method === "PATCH"
      ? operations.updateDocuments(context, collection, body, parameters)
      : operations.deleteDocuments(context, collection, parameters)
  }
  if (id === "import" && method === "POST")
    return operations.importDocuments(context, collection, once(body), parameters)
  if (id === "export") return operations.exportDocuments(context, collection, parameters)
  if (id === "search") {
    if (queryLength > QUERY_STRING_BYTES_MAX)
      return {
        ok: true,
        value: {
          status: 400,
          body: {
            message: `Query string exceeds max allowed length of ${QUERY_STRING_BYTES_MAX}. Use the /multi_search end-point for larger payloads.`
          }
        }
      }
    return operations.search(context, collection, parameters)
  }
  if (method === "GET") return operations.getDocument(context, collection, id, parameters)
  return method === "PATCH"
    ? operations.updateDocument(context, collection, id, body, parameters)
    : operations.deleteDocument(context, collection, id, parameters)
}
const setsRoute = async (
  sets: operations.NamedSetOperations,
  context: OperationContext,
  method: string,
  [, name, items, id]: ReadonlyArray<string>,
  parameters: Record<string, string>,
  body: string
): Promise<Routed> => {
  if (name === undefined) return sets.list(context)
  if (items === undefined) {
    if (method === "GET") return sets.get(context, name)
    return method === "PUT" ? sets.upsert(context, name, body) : sets.delete(context, name)
  }
  if (id === undefined) return sets.listItems(context, name, parameters)
  if (method === "GET") return sets.getItem(context, name, id)
  return method === "PUT" ? sets.upsertItem(context, name, id, body) : sets.deleteItem(context, name, id)
}
