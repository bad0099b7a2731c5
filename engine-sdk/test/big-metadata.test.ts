/**
 * Metadata with integers beyond 2^53, which are plain numbers there as in any JSON, through the writer's thread and
 * through a restart.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import { createCollection, memoryResources, updateCollection, type OperationContext } from "../src/operations/mod.ts"

it("stays unchanged, and later changes still work", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-big-"))
  const metadata = '{"n":9223372036854775807}'
  const contextOf = async (): Promise<OperationContext & { readonly close: () => Promise<void> }> => {
    const engine = await openEngine({ path: folder, worker: true })
    return { engine, namespace: "a", resources: memoryResources(), now_s: 0, close: () => engine.close() }
  }
  try {
    const first = await contextOf()
    expect(
      (await createCollection(first, `{"name":"c","metadata":${metadata},"fields":[{"name":"title","type":"string"}]}`))
        .ok
    ).toBe(true)
    expect((await updateCollection(first, "c", `{"metadata":{"m":9223372036854775806}}`)).ok).toBe(true)
    expect(
      (await updateCollection(first, "c", '{"fields":[{"name":"more","type":"string","optional":true}]}')).ok
    ).toBe(true)
    await first.close()
    const second = await contextOf()
    expect(
      (await updateCollection(second, "c", '{"fields":[{"name":"again","type":"string","optional":true}]}')).ok
    ).toBe(true)
    // oxlint-disable-next-line no-loss-of-precision -- the number as it is sent
    expect(second.engine.describeCollection("a", "c")?.schema.metadata).toEqual({ m: 9223372036854775806 })
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
