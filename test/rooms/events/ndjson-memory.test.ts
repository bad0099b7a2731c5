import { Readable } from "node:stream"
import { Effect, Result } from "effect"
import { expect, it } from "vitest"
import { eachChunk } from "../../../src/events/intake/ndjson.ts"
import { FREE_BYTES, RequestMemory } from "../../../src/http/request-memory.ts"

const limits = { linesPerChunk: 1_000, bytesPerChunk: 1_000_000, lineBytesMax: 1_000_000 }
const read = async (text: string, memory: RequestMemory, between: (lines: number) => void = () => {}) => {
  const held = memory.open("a")
  const chunks: Array<number> = []
  const ended = await Effect.runPromise(
    Effect.result(
      eachChunk(
        Readable.from(
          Buffer.from(text)
            .toString("latin1")
            .match(/[^]{1,16384}/g)!
            .map((part) => Buffer.from(part, "latin1"))
        ),
        held,
        limits,
        (lines) =>
          Effect.sync(() => {
            chunks.push(lines.length)
            between(lines.length)
          })
      )
    )
  )
  held.close()
  return {
    chunks,
    failure: Result.isFailure(ended)
      ? (ended.failure as { readonly _tag: string; readonly retry_after_s?: number })
      : undefined
  }
}
const lines = Array.from({ length: 500 }, (_, i) => `{"n":${i},"x":"${"é".repeat(200)}"}`).join("\n")

it("lines of events are passed on as they come when no more memory is available, and none is lost", async () => {
  const whole = await read(lines, new RequestMemory())
  expect(whole).toEqual({ chunks: [500], failure: undefined })
  const little = await read(lines, new RequestMemory({ bytesMax: 10_000, wait_ms: 10 }))
  expect([little.failure, little.chunks.reduce((sum, count) => sum + count, 0), little.chunks.length > 1]).toEqual([
    undefined,
    500,
    true
  ])
})
it("a line without room is answered 429 after earlier ones were passed on, and passes when there is room", async () => {
  const text = `${lines}\n"${"x".repeat(FREE_BYTES + 50_000)}"\n${lines}`
  const memory = new RequestMemory({ bytesMax: 100_000, wait_ms: 50 })
  const other = memory.open("a")
  other.reserve(FREE_BYTES + 50_000)
  const refused = await read(text, memory)
  expect([
    refused.failure?._tag,
    refused.failure?.retry_after_s,
    refused.chunks.reduce((sum, count) => sum + count, 0)
  ]).toEqual(["Throttled", 1, 500])
  let handedOn = 0
  const waited = await read(text, memory, (count) => {
    if ((handedOn += count) === 500) other.close()
  })
  expect([waited.failure, waited.chunks.reduce((sum, count) => sum + count, 0), memory.bytes]).toEqual([
    undefined,
    1_001,
    0
  ])
})
