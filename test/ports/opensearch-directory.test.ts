/** What the directory of a search cluster knows while changes and reads of changes cross each other. */
import { describe, expect, it } from "vitest"
import { ok } from "../../engine-sdk/src/errors.ts"
import type { ClusterClient } from "../../engine-sdk/src/opensearch/client.ts"
import { Directory } from "../../engine-sdk/src/opensearch/directory.ts"
import { namesOf } from "../../engine-sdk/src/opensearch/placement.ts"
import type { CollectionRecord } from "../../engine-sdk/src/opensearch/record.ts"
import { suiteField, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"

const recordOf = (namespace: string, key: string, isGone = false): CollectionRecord => ({
  namespace,
  schema: suiteSchema("first", [suiteField("x", "int32")]),
  createdAt_s: 1,
  placement: { kind: "pool", index: "pool", key } as unknown as CollectionRecord["placement"],
  slots: {} as CollectionRecord["slots"],
  version: 1,
  isGone
})
type Stored = {
  readonly _seq_no: number
  readonly _primary_term: number
  readonly _source: { record: CollectionRecord }
}

/** A cluster whose pages of changes arrive when the test says so; it takes every record. */
const clusterOf = () => {
  let next = 0
  const stored: Stored[] = [],
    waiting: Array<() => void> = []
  const client = {
    isClosed: false,
    ask: async ({ body, path }: { readonly path: string; readonly body: { readonly record: CollectionRecord } }) => {
      if (path.includes("/_search")) {
        const hits = [...stored]
        await new Promise<void>((arrive) => waiting.push(arrive))
        return ok({ hits: { hits } })
      }
      const revision = { _seq_no: next++, _primary_term: 1 }
      stored.push({ ...revision, _source: { record: body.record } })
      return ok(revision)
    }
  }
  return {
    directory: new Directory(client as unknown as ClusterClient, namesOf("x")),
    arrive: () => waiting.shift()!(),
    isAsked: () => waiting.length > 0
  }
}

describe("a collection that is dropped while changes are read", () => {
  it("does not come back with a page that was read before; another tenant's of that name stays", async () => {
    const { arrive, directory, isAsked } = clusterOf()
    const made = await directory.save(recordOf("a", "1"), undefined)
    await directory.save(recordOf("b", "2"), undefined)
    const looking = directory.readChanges()
    await expect.poll(isAsked).toBe(true)
    if (!made.ok) throw new Error(made.error.message)
    await directory.save(recordOf("a", "1", true), made.value.revision)
    expect(directory.find("a", "first")).toBeUndefined()
    arrive()
    await looking
    expect(directory.find("a", "first")).toBeUndefined()
    expect(directory.find("b", "first")?.record.placement.key).toBe("2")
  })
  it("may be created anew", async () => {
    const { arrive, directory, isAsked } = clusterOf()
    const made = await directory.save(recordOf("a", "1"), undefined)
    if (!made.ok) throw new Error(made.error.message)
    const gone = await directory.save(recordOf("a", "1", true), made.value.revision)
    if (!gone.ok) throw new Error(gone.error.message)
    await directory.save(recordOf("a", "3"), gone.value.revision)
    const looking = directory.readChanges()
    await expect.poll(isAsked).toBe(true)
    arrive()
    await looking
    expect(directory.find("a", "first")?.record.placement.key).toBe("3")
  })
})
