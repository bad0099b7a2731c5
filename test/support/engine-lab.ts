/**
 * A small laboratory for engine rules: an in-process engine with operations around it, and short calls that return
 * parsed JSON. One lab per test; nothing is shared.
 */
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { parseCreateBody } from "../../engine-sdk/src/schema/mod.ts"
import type { CollectionSchema } from "../../engine-sdk/src/schema.ts"
import { routerOver } from "./operation-router.ts"

interface Reply {
  readonly status: number
  readonly body: any
}
export interface Lab {
  call(method: string, path: string, body?: unknown): Promise<Reply>
  /** Creates a collection and imports its documents. */ collection(
    name: string,
    fields: ReadonlyArray<object>,
    documents: ReadonlyArray<object>,
    more?: object
  ): Promise<void>
  /** Answer of a search; parameters are encoded here. */ search(
    collection: string,
    parameters: Record<string, string | number | boolean>
  ): Promise<Reply>
  /** Ids of the hits. */ ids(
    collection: string,
    parameters: Record<string, string | number | boolean>
  ): Promise<string[]>
  close(): Promise<void>
}
/** `engine`: one other than the engine in memory. */
export const createLab = (engine: SearchEngine = createEngine()): Lab => {
  const wire = routerOver({ engine, resources: memoryResources(), namespace: "lab" })
  const call: Lab["call"] = async (method, path, body) => {
    const { status, text } = await wire(
      method,
      path,
      body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body)
    )
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch {
      parsed = text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line))
    }
    return { status, body: parsed }
  }
  const search: Lab["search"] = (collection, parameters) =>
    call(
      "GET",
      `/collections/${collection}/documents/search?${new URLSearchParams(Object.entries(parameters).map(([key, value]): [string, string] => [key, String(value)]))}`
    )
  return {
    call,
    search,
    collection: async (name, fields, documents, more = {}) => {
      const created = await call("POST", "/collections", { name, fields, ...more })
      if (created.status !== 201) throw new Error(JSON.stringify(created.body))
      if (documents.length === 0) return
      const { body } = await call(
        "POST",
        `/collections/${name}/documents/import`,
        documents.map((document) => JSON.stringify(document)).join("\n")
      )
      const failed = (Array.isArray(body) ? body : [body]).filter((line: { success: boolean }) => !line.success)
      if (failed.length > 0) throw new Error(JSON.stringify(failed))
    },
    ids: async (collection, parameters) => {
      const { status, body } = await search(collection, parameters)
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body.hits.map((hit: { document: { id: string } }) => hit.document.id)
    },
    close: () => engine.close()
  }
}
/** A validated schema without an engine. */
export const schemaOf = (fields: ReadonlyArray<object>, more: object = {}): CollectionSchema => {
  const schema = parseCreateBody(
    { name: "lab", fields, ...more },
    { hasSynonymSet: () => true, hasCurationSet: () => true }
  )
  if (!schema.ok) throw new Error(schema.error.message)
  return schema.value
}
/** Numbers in [0, 1) that repeat for a seed (mulberry32). */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
