/**
 * Whose turn is next at the model, and restarts of its thread, with a thread that stands in for it and does what a test
 * orders. The test sets the time.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  CurrentEmbedderFigures,
  type InstalledModel
} from "../../../src/ports/text-embedder/inference/local-embedder.ts"
import { layerMiniLm } from "../../../src/ports/text-embedder/minilm/model.ts"
import { MODEL_NAME } from "../../../src/ports/text-embedder/minilm/layout.ts"
import { Line } from "../../../src/ports/text-embedder/inference/line.ts"
import { Pace, runsOf } from "../../../src/ports/text-embedder/inference/runs.ts"
import { VectorCache } from "../../../src/ports/text-embedder/inference/vector-cache.ts"
import { type EmbedRequest, TextEmbedder } from "../../../src/ports/text-embedder/text-embedder.ts"

const entry = new URL("../../support/embedding-worker.ts", import.meta.url)
const MINUTE = 60_000

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "dowser-embedder-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)
/** What the thread has received and done so far. */
const told = (folder: string): ReadonlyArray<string> => {
  try {
    return readFileSync(join(folder, "told"), "utf8").trimEnd().split("\n")
  } catch {
    return []
  }
}
const make = Effect.fnUntraced(function* (options: Partial<Parameters<typeof layerMiniLm>[0]> = {}) {
  const folder = yield* temporary
  const layer = layerMiniLm({ installed: () => ({ state: "installed", folder }), entry, ...options })
  const context = yield* Layer.build(layer)
  const embed = (texts: ReadonlyArray<string>, more: Partial<EmbedRequest> = {}) =>
    Effect.provide(
      Effect.flatMap(TextEmbedder, (port) =>
        port.embed({ model: MODEL_NAME, texts, priority: "document", organizationId: "org_a", ...more })
      ),
      context
    )
  const figures = Effect.provide(
    Effect.map(CurrentEmbedderFigures, (read) => read()!),
    context
  )
  return { folder, embed, figures, told: () => told(folder) }
})
/** Waits until the thread, which runs in real time, has done something. */
const until = (isTrue: () => boolean) =>
  Effect.promise(async () => {
    while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
  })

describe("the queue", () => {
  const of = (organizationId: string, name: string, items = 1) => ({ organizationId, name, items, bytes: items * 10 })
  it("gives organizations turns, and keeps each one's own order", () => {
    const line = new Line<ReturnType<typeof of>>({ items: 100, bytes: 1_000 })
    for (const name of ["a1", "a2", "a3", "a4"]) line.put(of("a", name))
    line.put(of("b", "b1"))
    const first = line.take()!
    line.put(of("c", "c1"))
    line.put(of("b", "b2"))
    const rest = Array.from({ length: 6 }, () => line.take()!.name)
    expect([first.name, ...rest]).toEqual(["a1", "b1", "a2", "c1", "b2", "a3", "a4"])
    expect([line.take(), line.items, line.bytes]).toEqual([undefined, 0, 0])
  })
  it("serves returned items first, and forgets removed ones", () => {
    const line = new Line<ReturnType<typeof of>>({ items: 100, bytes: 1_000 })
    const gone = of("b", "b1", 4)
    line.put(of("a", "a1"))
    line.put(gone)
    line.put(of("b", "b2"))
    const taken = line.take()!
    line.putBack(taken)
    line.remove(gone)
    expect([line.items, line.bytes]).toEqual([2, 20])
    expect([line.take()!.name, line.take()!.name, line.take()]).toEqual(["a1", "b2", undefined])
  })
  it("is full for one organization at half of its bounds, and for all at the whole", () => {
    const line = new Line<ReturnType<typeof of>>({ items: 10, bytes: 1_000 })
    line.put(of("a", "a1", 5))
    expect([line.hasRoom(of("a", "a2")), line.hasRoom(of("b", "b1", 5)), line.hasRoom(of("b", "b1", 6))]).toEqual([
      false,
      true,
      false
    ])
    line.put(of("b", "b1", 5))
    expect(line.hasRoom(of("c", "c1"))).toBe(false)
  })
})
describe("runs", () => {
  it("contain texts of similar length, up to their bound, and no empty ones", () => {
    const lengths = [3, 50, 4, 0, 52, 3, 256]
    expect(runsOf(lengths, 110)).toEqual([[0, 5, 2], [1, 4], [6]])
    expect(runsOf(lengths, 0)).toEqual([[0], [5], [2], [1], [4], [6]])
    expect(runsOf([], 10)).toEqual([])
  })
  it("follow the measured pace", () => {
    const pace = new Pace()
    const before = pace.tokensMax
    for (let i = 0; i < 50; i++) pace.took(100, 100)
    expect(pace.tokensMax).toBeLessThan(before)
    for (let i = 0; i < 50; i++) pace.took(1_000, 1)
    expect(pace.tokensMax).toBe(2_048)
  })
})
describe("cached vectors", () => {
  it("belong to one organization and model, within their bytes, queries beside documents", () => {
    const cache = new VectorCache(300_000)
    const request = { model: "m", texts: [], priority: "query", organizationId: "org_a" } as const
    const known = { vector: new Float32Array(384), tokens: 3 }
    cache.set("query", cache.keyOf(request, "tea"), known)
    expect(cache.get(cache.keyOf(request, "tea"))).toBe(known)
    for (const other of [
      { ...request, organizationId: "org_b" },
      { ...request, model: "n" }
    ])
      expect(cache.get(cache.keyOf(other, "tea"))).toBe(undefined)
    for (let i = 0; i < 1_000; i++) cache.set("document", cache.keyOf(request, `document ${i}`), known)
    expect(cache.bytes).toBeLessThanOrEqual(300_000)
    expect(cache.get(cache.keyOf(request, "tea"))).toBe(known)
    expect(cache.get(cache.keyOf(request, "document 0"))).toBe(undefined)
  })
})

describe("the thread of the model", () => {
  it.effect("starts with the first text, and equal texts are sent once", () =>
    Effect.gen(function* () {
      const { embed, figures, told } = yield* make()
      expect(told()).toEqual([])
      const { inputTokens, vectors } = yield* embed(["tea", "coffee", "tea", ""])
      expect(told()).toEqual(["loaded", "tea", "coffee"])
      expect(inputTokens).toBe(9)
      expect(vectors.map((vector) => vector.indexOf(1))).toEqual([3, 6, 3, -1])
      yield* embed(["coffee", "water"])
      expect(told().slice(3)).toEqual(["water"])
      // The time taken must not reveal to another organization that a text was sent before.
      yield* embed(["coffee"], { organizationId: "org_b" })
      expect(told().slice(4)).toEqual(["coffee"])
      expect(yield* figures).toMatchObject({ texts: 4, known: 2, documentsWaiting: 0, engine: "native" })
    })
  )
  it.effect("takes queries before documents, and organizations in turns", () =>
    Effect.gen(function* () {
      const { embed, told } = yield* make()
      const many = (organizationId: string) =>
        Array.from({ length: 160 }, (_, i) => `slow ${organizationId} ${String(i).padStart(3, "0")}`)
      const importing = yield* Effect.forkChild(embed(many("org_a"), { organizationId: "org_a" }))
      yield* until(() => told().length > 1)
      const other = yield* Effect.forkChild(embed(["document of b"], { organizationId: "org_b" }))
      yield* Effect.yieldNow
      yield* embed(["query of c"], { organizationId: "org_c", priority: "query" })
      const whenQuery = told().length
      yield* Fiber.join(other)
      const whenOther = told().length
      yield* Fiber.join(importing)
      // At most the chunk that was in the thread, and for the other organization also the one whose turn was before.
      expect(whenQuery).toBeLessThanOrEqual(1 + 2 * 32 + 1)
      expect(whenOther).toBeLessThanOrEqual(1 + 3 * 32 + 2)
      expect(told().length).toBe(1 + 160 + 2)
    })
  )
  it.effect("that dies is replaced, and its texts are sent once more", () =>
    Effect.gen(function* () {
      const { embed, figures, told } = yield* make()
      expect((yield* embed(["die once"])).vectors.length).toBe(1)
      expect(told()).toEqual(["loaded", "die once", "loaded", "die once"])
      const error = yield* Effect.flip(embed(["before", "die"]))
      expect(error).toMatchObject({ reason: "failed" })
      expect(told().filter((line) => line === "die").length).toBe(2)
      // Other texts must not be affected.
      expect((yield* embed(["tea"], { organizationId: "org_b" })).vectors.length).toBe(1)
      expect(yield* figures).toMatchObject({ losses: 3 })
    })
  )
  it.effect("may refuse texts, and continues", () =>
    Effect.gen(function* () {
      const { embed, told } = yield* make()
      const error = yield* Effect.flip(embed(["refuse"]))
      expect([error.reason, error.message]).toEqual(["failed", expect.stringContaining("not this one")])
      yield* embed(["tea"])
      expect(told()).toEqual(["loaded", "refuse", "tea"])
    })
  )
  it.effect("ends after a long idle time, and starts again", () =>
    Effect.gen(function* () {
      const { embed, figures, told } = yield* make({ idle_ms: 10 * MINUTE })
      yield* embed(["tea"])
      yield* TestClock.adjust(9 * MINUTE)
      yield* embed(["coffee"])
      yield* TestClock.adjust(9 * MINUTE)
      expect((yield* figures).engine).toBe("native")
      expect(told()).toEqual(["loaded", "tea", "coffee"])
      yield* TestClock.adjust(5 * MINUTE)
      yield* until(() => told().includes("stopped"))
      expect((yield* figures).engine).toBe(undefined)
      yield* embed(["water"])
      expect(told()).toEqual(["loaded", "tea", "coffee", "stopped", "loaded", "water"])
      expect((yield* figures).losses).toBe(0)
    })
  )
  it.effect("that cannot load the model fails all waiting requests, and is not restarted at once", () =>
    Effect.gen(function* () {
      const { embed, folder, told } = yield* make()
      writeFileSync(join(folder, "broken"), "")
      const errors = yield* Effect.all(
        [Effect.flip(embed(["tea"])), Effect.flip(embed(["coffee"], { organizationId: "org_b", priority: "query" }))],
        { concurrency: "unbounded" }
      )
      for (const error of errors)
        expect([error.reason, error.message]).toEqual(["failed", expect.stringContaining("the graph is broken")])
      rmSync(join(folder, "broken"))
      expect((yield* Effect.flip(embed(["tea"]))).reason).toBe("failed")
      expect(told()).toEqual(["broken"])
      yield* TestClock.adjust(31_000)
      yield* embed(["tea"])
      expect(told()).toEqual(["broken", "loaded", "tea"])
    })
  )
  it.effect("gets no work for cancelled requests", () =>
    Effect.gen(function* () {
      const { embed, figures, told } = yield* make()
      const gone = yield* Effect.forkChild(embed(Array.from({ length: 320 }, (_, i) => `slow gone ${i}`)))
      yield* until(() => told().length > 1)
      yield* Fiber.interrupt(gone)
      yield* embed(["tea"])
      expect(told().length).toBeLessThanOrEqual(1 + 2 * 32 + 1)
      expect((yield* figures).documentsWaiting).toBe(0)
    })
  )
  it.effect("answers busy when too much waits, for one organization at half of that, and queries still pass", () =>
    Effect.gen(function* () {
      const { embed } = yield* make()
      const many = (name: string, count: number) => Array.from({ length: count }, (_, i) => `slow ${name} ${i}`)
      const first = yield* Effect.forkChild(embed(many("a", 10_000)))
      yield* Effect.yieldNow
      const busy = yield* Effect.flip(embed(many("more", 100)))
      expect(busy).toMatchObject({ reason: "busy", retry_after_s: expect.any(Number) })
      const second = yield* Effect.forkChild(embed(many("b", 9_000), { organizationId: "org_b" }))
      yield* Effect.yieldNow
      expect((yield* Effect.flip(embed(many("c", 2_000), { organizationId: "org_c" }))).reason).toBe("busy")
      yield* embed(["a query of the first"], { priority: "query" })
      yield* embed(["a query of another"], { priority: "query", organizationId: "org_d" })
      yield* Fiber.interrupt(first)
      yield* Fiber.interrupt(second)
      yield* embed(["tea"])
    })
  )
  it.effect("ends with its scope, and waiting requests fail", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { embed, told } = yield* Scope.provide(make(), scope)
      const waiting = yield* Effect.forkChild(Effect.exit(embed(Array.from({ length: 64 }, (_, i) => `slow ${i}`))))
      yield* until(() => told().length > 1)
      yield* Scope.close(scope, Exit.void)
      expect(Exit.isFailure(yield* Fiber.join(waiting))).toBe(true)
    })
  )
  it.effect("is not started without a model, and the failure says what to do", () =>
    Effect.gen(function* () {
      let state: InstalledModel = { state: "absent", message: "It is not installed; do this." }
      const { embed, told } = yield* make({ installed: () => state })
      expect(yield* Effect.flip(embed(["tea"]))).toMatchObject({
        reason: "not_installed",
        message: "It is not installed; do this."
      })
      // A blank text needs no model.
      expect((yield* embed([" "])).inputTokens).toBe(0)
      state = { state: "installing", retry_after_s: 15 }
      expect(yield* Effect.flip(embed(["tea"]))).toMatchObject({ reason: "installing", retry_after_s: 15 })
      expect(told()).toEqual([])
    })
  )
})
