/**
 * An import whose host grants little memory: every line gets its verdict, in order, and no more memory is held than
 * granted.
 */
import { describe, expect, it } from "vitest"
import { createEngine } from "../src/memory/create-engine.ts"
import {
  createCollection,
  exportDocuments,
  importDocuments,
  type ImportMemory,
  memoryResources
} from "../src/operations/mod.ts"
import { randomOf } from "./random.ts"

const line = (id: number, padding: number) =>
  JSON.stringify({ id: String(id), title: `Title ${id}`, padding: "é".repeat(padding) })
/** Splits the text at places where no line and no character ends. */
async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const importing = async (text: string, memory: ImportMemory | undefined, size = 700) => {
  const context = { engine: createEngine(), resources: memoryResources(), namespace: "n", now_s: 0 }
  await createCollection(context, JSON.stringify({ name: "goods", fields: [{ name: "title", type: "string" }] }))
  const batches: Array<number> = []
  const { write } = context.engine
  const engine = Object.assign(Object.create(context.engine) as typeof context.engine, {
    write: (...args: Parameters<typeof write>) => {
      batches.push(args[2].length)
      return write.apply(context.engine, args)
    }
  })
  const started = importDocuments({ ...context, engine }, "goods", chunksOf(text, size), {}, memory)
  if (!started.ok) throw new Error(started.error.message)
  let answer = ""
  for await (const piece of started.value.lines) answer += piece
  const exported = exportDocuments(context, "goods", { include_fields: "id" })
  if (!exported.ok) throw new Error(exported.error.message)
  let stored = ""
  for await (const piece of exported.value.lines) stored += piece
  await context.engine.close?.()
  return {
    verdicts: answer
      .split("\n")
      .map(
        (text) => JSON.parse(text) as { readonly success: boolean; readonly code?: number; readonly error?: string }
      ),
    batches,
    stored: stored.split("\n").map((text) => (JSON.parse(text) as { readonly id: string }).id)
  }
}

describe("an import with little memory", () => {
  it("writes its lines as they come, and holds no more than it was granted", async () => {
    const text = Array.from({ length: 400 }, (_, i) => line(i, 20)).join("\n")
    const whole = await importing(text, undefined)
    expect(whole.batches).toEqual([400])
    let held = 0,
      peak = 0
    const hold = (bytes: number) => {
      if (bytes > held && bytes > 2_000) return false
      held = bytes
      peak = Math.max(peak, held)
      return true
    }
    const little = await importing(text, { reserve: hold, reserveOrWait: async (bytes) => hold(bytes) })
    expect(little.verdicts).toEqual(whole.verdicts)
    expect(little.stored).toEqual(whole.stored)
    expect([little.batches.length > 10, peak <= 2_000]).toEqual([true, true])
  })
  it("waits for a long line, refuses only that line if there is no room, and continues after it", async () => {
    for (const grants of [true, false]) {
      let asked = 0
      const text = [line(1, 5), line(2, 5_000), line(3, 5), line(4, 6_000), line(5, 5)].join("\n")
      const { stored, verdicts } = await importing(text, {
        reserve: (bytes) => bytes <= 2_000,
        reserveOrWait: async (bytes) => {
          asked++
          return bytes > 0 && grants
        }
      })
      expect(asked > 0).toBe(true)
      expect(stored).toEqual(grants ? ["1", "2", "3", "4", "5"] : ["1", "3", "5"])
      expect(verdicts.map(({ code, success }) => (success ? 200 : code))).toEqual(
        grants ? [200, 200, 200, 200, 200] : [200, 429, 200, 429, 200]
      )
      if (!grants) expect(verdicts[1]!.error).toContain("memory")
    }
  })
  it("gives each line its verdict, whatever is granted when", async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = randomOf(seed)
      const lengths = Array.from({ length: 60 }, () => Math.floor(random.next() * random.pick([5, 400, 3_000])))
      const { stored, verdicts } = await importing(
        lengths.map((length, i) => line(i, length)).join("\n\n") + random.pick(["", "\n", " ".repeat(3_000)]),
        { reserve: () => random.next() < 0.5, reserveOrWait: async () => random.next() < 0.5 },
        1 + Math.floor(random.next() * 2_000)
      )
      expect(verdicts.length).toBe(60)
      expect(verdicts.flatMap(({ success }, i) => (success ? [String(i)] : []))).toEqual(stored)
      expect(verdicts.every(({ code, success }) => success || code === 429)).toBe(true)
    }
  })
})
