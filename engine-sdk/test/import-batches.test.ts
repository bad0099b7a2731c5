/** Batches of one import: the next one starts while the disk stores the previous one, and later lines win. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { createEngine } from "../src/memory/create-engine.ts"
import { openEngine } from "../src/memory/open-engine.ts"
import type { SearchEngine, WriteVerdict } from "../src/engine.ts"
import { fail, ok, type Result } from "../src/errors.ts"
import {
  createCollection,
  exportDocuments,
  importDocuments,
  memoryResources,
  type OperationContext
} from "../src/operations/mod.ts"

const BATCH = 4_096
const contextOf = async (engine: SearchEngine): Promise<OperationContext> => {
  const context = { engine, resources: memoryResources(), namespace: "n", now_s: 0 }
  await createCollection(context, JSON.stringify({ name: "goods", fields: [{ name: "n", type: "int32" }] }))
  return context
}
/** All lines at once, so that one batch follows the other without a pause. */
async function* lines(count: number, line: (i: number) => object): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(Array.from({ length: count }, (_, i) => JSON.stringify(line(i))).join("\n"))
}
const started = (context: OperationContext, chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> => {
  const answer = importDocuments(context, "goods", chunks, { action: "upsert", return_id: "true" })
  if (!answer.ok) throw new Error(answer.error.message)
  return answer.value.lines
}
const textOf = async (pieces: AsyncIterable<string>): Promise<string> => {
  let text = ""
  for await (const piece of pieces) text += piece
  return text
}
const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

/** An engine whose writes are answered when the test decides, in any order. */
const held = async (callsTaken: boolean) => {
  const context = await contextOf(createEngine())
  const calls: Array<{ readonly ids: ReadonlyArray<string>; readonly answer: (ok: boolean) => void }> = []
  const write: SearchEngine["write"] = (_namespace, _collection, operations, options) =>
    new Promise<Result<ReadonlyArray<WriteVerdict>>>((resolve) => {
      const ids = operations.map((operation) =>
        operation.kind === "put" ? (JSON.parse(String(operation.document)) as { readonly id: string }).id : ""
      )
      calls.push({
        ids,
        answer: (isStored) =>
          resolve(
            isStored
              ? ok(ids.map((id) => ({ id, result: ok({ id, changed: true }) })))
              : fail({ kind: "Unavailable", message: "The disk is full." })
          )
      })
      if (callsTaken) options?.taken?.()
    })
  const engine = Object.assign(Object.create(context.engine) as SearchEngine, { write })
  return { calls, context: { ...context, engine } }
}

it("only one batch is ahead of the answers; results come in order, including those of a failed batch", async () => {
  const { calls, context } = await held(true)
  const text = textOf(
    started(
      context,
      lines(3 * BATCH, (i) => ({ id: String(i), n: i }))
    )
  )
  await soon()
  expect(calls.map(({ ids }) => ids[0])).toEqual(["0", String(BATCH)])
  calls[1]!.answer(true)
  await soon()
  expect(calls).toHaveLength(2)
  calls[0]!.answer(false)
  await soon()
  expect(calls).toHaveLength(3)
  calls[2]!.answer(true)
  const results = (await text).split("\n").map((line) => JSON.parse(line) as { readonly id: string; success: boolean })
  expect(results.map(({ id }) => id)).toEqual(Array.from({ length: 3 * BATCH }, (_, i) => String(i)))
  expect(results.map(({ success }) => success)).toEqual(Array.from({ length: 3 * BATCH }, (_, i) => i >= BATCH))
})
it("an engine that does not report when it has taken a batch gets the next one after its answer", async () => {
  const { calls, context } = await held(false)
  const text = textOf(
    started(
      context,
      lines(2 * BATCH, (i) => ({ id: String(i), n: i }))
    )
  )
  await soon()
  expect(calls).toHaveLength(1)
  calls[0]!.answer(true)
  await soon()
  expect(calls).toHaveLength(2)
  calls[1]!.answer(true)
  expect((await text).split("\n")).toHaveLength(2 * BATCH)
})
it("a reader that stops leaves nothing running", async () => {
  const { calls, context } = await held(true)
  const pieces = started(
    context,
    lines(3 * BATCH, (i) => ({ id: String(i), n: i }))
  )[Symbol.asyncIterator]()
  const first = pieces.next()
  await soon()
  calls[0]!.answer(true)
  await first
  let isOver = false
  const over = pieces.return!(undefined).then(() => {
    isOver = true
  })
  await soon()
  expect([isOver, calls.length]).toEqual([false, 2])
  calls[1]!.answer(true)
  await over
})
it.each([false, true])(
  "a line that comes later wins, whichever batch it is in (writer in a worker: %s)",
  async (worker) => {
    const path = mkdtempSync(join(tmpdir(), "dowser-test-"))
    const engine = await openEngine({ path, worker })
    try {
      const context = await contextOf(engine)
      // Every id is once in each of two batches, in reverse order.
      const count = 2 * BATCH
      const idOf = (i: number) => String((i / BATCH) & 1 ? BATCH - 1 - (i % BATCH) : i % BATCH)
      await textOf(
        started(
          context,
          lines(count, (i) => ({ id: idOf(i), n: i }))
        )
      )
      const exported = exportDocuments(context, "goods", {})
      if (!exported.ok) throw new Error(exported.error.message)
      const stored = (await textOf(exported.value.lines))
        .split("\n")
        .map((line) => JSON.parse(line) as { readonly id: string; readonly n: number })
      const last = new Map(Array.from({ length: count }, (_, i) => [idOf(i), i]))
      expect(new Map(stored.map(({ id, n }) => [id, n]))).toEqual(last)
    } finally {
      await engine.close()
      rmSync(path, { recursive: true, force: true })
    }
  }
)
