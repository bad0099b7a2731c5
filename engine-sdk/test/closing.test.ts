/**
 * A writer over a real journal: collections close, are dropped and fail to be snapshotted while others write to them.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import type { Journal } from "../src/store/journal.ts"
import { LmdbJournal } from "../src/store/lmdb-journal.ts"
import { Writer } from "../src/store/writer.ts"
import { type WriterEvent } from "../src/store/writer-port.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const schema = suiteSchema("goods", [suiteField("name", "string")])
const put = (id: string) => putOf({ id, name: `name ${id}` })

/** The real journal, but some of its snapshots are refused by the disk. */
const refusing = (journal: LmdbJournal, refuses: () => boolean): Journal =>
  new Proxy<Journal>(journal, {
    get: (real, name) => {
      if (name === "saveIndex")
        return (...given: Parameters<Journal["saveIndex"]>) =>
          refuses() ? Promise.reject(new Error("no space left on device")) : journal.saveIndex(...given)
      const value = Reflect.get(real, name, real) as unknown
      return typeof value === "function" ? (value as (...given: unknown[]) => unknown).bind(real) : value
    }
  })

const withWriter = async (
  body: (
    writer: Writer,
    tools: { readonly key: number; readonly events: WriterEvent[]; readonly path: string }
  ) => Promise<void>,
  refuses: () => boolean = () => false
): Promise<void> => {
  const path = await mkdtemp(join(tmpdir(), "engine-closing-"))
  const events: WriterEvent[] = []
  const writer = new Writer(refusing(await LmdbJournal.open(path), refuses), (event) => {
    events.push(event)
  })
  try {
    writer.start()
    await writer.create("t", schema, 1)
    const [{ record }] = events.filter((event) => event.kind === "collection")
    await body(writer, { key: record.key, events, path })
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}
const found = async (path: string): Promise<unknown> => {
  const engine = await openEngine({ path })
  try {
    const [answer] = await engine.search("t", [suitePlan("goods", { limit: 250 })])
    return answer.ok ? answer.value.found : answer.error
  } finally {
    await engine.close()
  }
}
const written = (answer: Awaited<ReturnType<Writer["write"]>>) =>
  answer.ok ? answer.value.map(({ id, result }) => (result.ok ? id : result.error.kind)) : answer.error

describe("a write to a collection that closes meanwhile", () => {
  it("goes to the collection when it is opened again, and survives", () =>
    withWriter(async (writer, { events, key, path }) => {
      await writer.write("t", "goods", [put("1")], false)
      // The write has found the open collection and waits for its turn; the release closes that collection meanwhile.
      const write = writer.write("t", "goods", [put("2")], false)
      const release = writer.release(key)
      expect(written(await write)).toEqual(["2"])
      await release
      expect(events.filter(({ kind }) => kind === "closed" || kind === "opened").map(({ kind }) => kind)).toEqual([
        "opened",
        "closed",
        "opened"
      ])
      await writer.close()
      expect(await found(path)).toBe(2)
    }))
  it("fails if the collection was dropped", () =>
    withWriter(async (writer) => {
      await writer.write("t", "goods", [put("1")], false)
      const write = writer.write("t", "goods", [put("2")], false)
      const drop = writer.drop("t", "goods")
      expect(written(await write)).toEqual({ kind: "NotFound", message: "Collection not found" })
      expect((await drop).ok).toBe(true)
      await writer.close()
    }))
  it("fails if the whole engine closes, and has written nothing", () =>
    withWriter(async (writer, { path }) => {
      await writer.write("t", "goods", [put("1")], false)
      const early = writer.write("t", "goods", [put("2")], false)
      const close = writer.close()
      expect(written(await early)).toEqual(["2"])
      const late = writer.write("t", "goods", [put("3")], false)
      expect(written(await late)).toEqual({ kind: "Unavailable", message: "The engine is closed." })
      await close
      expect(await found(path)).toBe(2)
    }))
  it("fails the same if the collection was not open and the journal is closed", () =>
    withWriter(async (writer, { key, path }) => {
      await writer.write("t", "goods", [put("1")], false)
      await writer.release(key)
      await writer.close()
      const late = writer.write("t", "goods", [put("2")], false)
      expect(written(await late)).toEqual({ kind: "Unavailable", message: "The engine is closed." })
      expect(await found(path)).toBe(1)
    }))
  it("waits for earlier writes", () =>
    withWriter(async (writer, { key, path }) => {
      const writes = Array.from({ length: 20 }, (_, i) =>
        writer.write(
          "t",
          "goods",
          Array.from({ length: 50 }, (_doc, j) => put(`${i}-${j}`)),
          false
        )
      )
      await Promise.resolve()
      const release = writer.release(key)
      for (const answer of await Promise.all(writes))
        expect(answer.ok && answer.value.every(({ result }) => result.ok)).toBe(true)
      await release
      await writer.close()
      expect(await found(path)).toBe(1_000)
    }))
})

describe.each([false, true])("an engine that closes in the middle of a long write, worker %s", (worker) => {
  it("returns verdicts or fails as unavailable, and keeps what it acknowledged", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-closing-"))
    try {
      const engine = await openEngine({ path, worker })
      await engine.createCollection("t", schema, 1)
      const acknowledged: string[] = []
      const answers: unknown[] = []
      const write = async (part: number) => {
        for (let batch = 0; ; batch++) {
          const answer = await engine.write(
            "t",
            "goods",
            Array.from({ length: 3_000 }, (_doc, i) => put(`${part}-${batch}-${i}`))
          )
          if (!answer.ok) {
            answers.push(answer.error.kind)
            return
          }
          acknowledged.push(...answer.value.map(({ id }) => String(id)))
        }
      }
      const writes = [write(0), write(1), write(2)]
      while (acknowledged.length === 0) await new Promise((settle) => setTimeout(settle, 5))
      await Promise.all([engine.close(), ...writes])
      expect(answers).toEqual(["Unavailable", "Unavailable", "Unavailable"])
      const again = await openEngine({ path })
      const found = await again.get("t", "goods", acknowledged)
      expect(found.ok && found.value.every((document) => document !== undefined)).toBe(true)
      await again.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
})

describe("a snapshot that fails", () => {
  it("at the release of a collection is reported, and costs the next opening time but no document", () => {
    let isFull = false
    return withWriter(
      async (writer, { events, key, path }) => {
        await writer.write("t", "goods", [put("1")], false)
        await writer.release(key)
        await writer.write("t", "goods", [put("2"), put("1")], false)
        isFull = true
        await expect(writer.release(key)).rejects.toThrow("no space left on device")
        // Readers are notified, because they would otherwise search data that is no longer updated.
        expect(events.at(-1)).toEqual({ kind: "closed", key })
        expect(written(await writer.write("t", "goods", [put("3")], false))).toEqual(["3"])
        isFull = false
        await writer.release(key)
        expect(written(await writer.write("t", "goods", [put("4")], false))).toEqual(["4"])
        await writer.close()
        expect(await found(path)).toBe(4)
      },
      () => isFull
    )
  })
  it("during normal work is reported as a warning and retried after the next idle period", () => {
    let refused = 0
    let saved = 0
    return withWriter(
      async (writer, { path }) => {
        const warnings: string[] = []
        const listen = (warning: Error) => {
          if (warning.message.includes("snapshot of collection")) warnings.push(warning.message)
        }
        process.on("warning", listen)
        try {
          await writer.write("t", "goods", [put("1")], false)
          for (let waited = 0; waited < 12_000 && saved === 0; waited += 50)
            await new Promise((settle) => setTimeout(settle, 50))
          expect([refused, saved]).toEqual([1, 1])
          expect(warnings).toEqual([
            expect.stringMatching(/^snapshot of collection \d+ failed and is tried again: no space left on device$/)
          ])
        } finally {
          process.off("warning", listen)
        }
        await writer.close()
        expect(await found(path)).toBe(1)
      },
      () => {
        if (refused === 0) {
          refused++
          return true
        }
        saved++
        return false
      }
    )
  })
})
