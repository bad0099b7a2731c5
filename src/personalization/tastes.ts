/**
 * Properties of the documents that visitors chose, from the engine, cached for half a minute, because many visitors'
 * newest documents are the same.
 */
import type { CollectionInfo, Document } from "@dowser/engine-sdk"
import type { OperationContext } from "@dowser/engine-sdk/operations"
import { BoundedMap } from "@dowser/engine-sdk/host"
import type { Take } from "@dowser/streams/figures/history"
import { affinitiesOf, type FieldAffinity, type TasteField, tastesOf } from "./affinities.ts"

const FRESH_MS = 30_000
const BYTES_MAX = 32_000_000

interface Tasted {
  /** Undefined if there was no such document. */
  readonly values: ReadonlyArray<ReadonlyArray<string>> | undefined
  readonly read_at: number
}
const valueAt = (document: Document, path: string): unknown => {
  if (Object.hasOwn(document, path)) return document[path]
  let value: unknown = document
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[part]
  }
  return value
}

export type Context = Pick<OperationContext, "engine" | "namespace">
export class Tastes {
  readonly #known = new BoundedMap<string, Tasted>({
    bytes_max: BYTES_MAX,
    bytesOf: (key, { values = [] }) =>
      values.reduce((sum, some) => some.reduce((of, value) => of + 16 + 2 * value.length, sum + 32), 2 * key.length)
  })
  readonly #now_ms: () => number

  constructor(now_ms: () => number) {
    this.#now_ms = now_ms
  }

  /** One engine call for documents that are not cached; none if all are. */
  async affinities(
    { engine, namespace }: Context,
    { created_at, schema }: CollectionInfo,
    fields: ReadonlyArray<TasteField>,
    takes: ReadonlyArray<Take>
  ): Promise<ReadonlyArray<FieldAffinity>> {
    if (fields.length === 0 || takes.length === 0) return []
    const now = this.#now_ms()
    const prefix = JSON.stringify([namespace, schema.name, created_at, fields])
    const found = new Map<string, Tasted["values"]>()
    const missing: Array<string> = []
    for (const { document } of takes) {
      if (found.has(document)) continue
      const known = this.#known.get(prefix + document)
      const isFresh = known !== undefined && now - known.read_at < FRESH_MS
      found.set(document, isFresh ? known.values : undefined)
      if (!isFresh) missing.push(document)
    }
    if (missing.length > 0) {
      const read = await engine.get(namespace, schema.name, missing)
      // The search itself reports failures of the engine.
      if (!read.ok) return []
      missing.forEach((id, i) => {
        const document = read.value[i]
        const values =
          document === undefined ? undefined : fields.map((field) => tastesOf(field, valueAt(document, field.name)))
        this.#known.set(prefix + id, { values, read_at: now })
        found.set(id, values)
      })
    }
    return affinitiesOf(takes, fields, (document) => found.get(document))
  }
}
