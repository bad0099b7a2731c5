/**
 * The breaker's state machine under any order of calls and times, and an engine behind it that is killed repeatedly,
 * hangs, fails partly, and recovers.
 */
import { describe, expect, it } from "vitest"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Worker } from "node:worker_threads"
import { Draws } from "../support/simulation/random.ts"
import {
  type EngineError,
  fail,
  type LocalEngine,
  ok,
  openEngine,
  type Result,
  type SearchEngine
} from "../../engine-sdk/src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"
import {
  admit,
  circuitAt,
  type CircuitOptions,
  type CircuitState,
  closedCircuit,
  settle
} from "../../src/ports/engine/circuit.ts"
import { guardEngine } from "../../src/ports/engine/guarded-engine.ts"
import { superviseEngine } from "../../src/runtime/supervised-engine.ts"

const options: CircuitOptions = { failuresMax: 3, window_ms: 1_000, wait_ms: 500 }

describe("the circuit", () => {
  it("keeps its promises whatever happens in whatever order", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const draws = new Draws(seed)
      const random = () => draws.next()
      let circuit = closedCircuit,
        now = 0
      /** A simple model of the specification: failures since the last answer, and when it opened. */
      let streak: Array<number> = [],
        openedAt = -1
      const open: Array<{ readonly ticket: number; readonly epoch: number }> = []
      for (let step = 0; step < 200; step++) {
        now += Math.floor(random() * 300)
        const state = circuitAt(circuit, now).state
        if (state === "open") expect(now - openedAt).toBeLessThan(options.wait_ms)
        if (random() < 0.5 || open.length === 0) {
          const before = circuitAt(circuit, now)
          const { circuit: next, ticket } = admit(circuit, now)
          circuit = next
          // A closed circuit lets every request through, an open one none, a half-open one exactly one.
          expect(ticket !== undefined).toBe(
            before.state === "closed" || (before.state === "half_open" && !before.isProbing)
          )
          if (ticket !== undefined) open.push({ ticket, epoch: next.epoch })
        } else {
          const [call] = open.splice(Math.floor(random() * open.length), 1)
          const outcome = (["answered", "unavailable", "unavailable", "abandoned"] as const)[Math.floor(random() * 4)]
          const before = circuit
          circuit = settle(circuit, call.ticket, outcome, now, options)
          if (call.ticket !== before.epoch) {
            expect(circuit).toBe(before)
            continue
          }
          if (before.state === "closed") {
            if (outcome === "answered") streak = []
            if (outcome === "unavailable") streak = [...streak.filter((at) => now - at <= options.window_ms), now]
            expect(circuit.state).toBe(streak.length >= options.failuresMax ? "open" : "closed")
          } else
            expect(circuit.state).toBe(
              outcome === "answered" ? "closed" : outcome === "unavailable" ? "open" : "half_open"
            )
          if (circuit.state === "open") openedAt = now
          if (circuit.state !== before.state) streak = []
        }
        expect(circuit.failures.length).toBeLessThan(options.failuresMax)
      }
      // Whatever happened before, an engine that answers again is used again.
      now += options.wait_ms
      let { circuit: last, ticket } = admit({ ...circuit, isProbing: false }, now)
      if (ticket !== undefined) last = settle(last, ticket, "answered", now, options)
      expect(last.state).toBe("closed")
    }
  })
})

const found = async (engine: SearchEngine): Promise<number | string> => {
  const [answer] = await engine.search("t", [suitePlan("c")])
  return answer.ok ? answer.value.found : answer.error.kind
}
const inFolder = async (run: (open: () => Promise<LocalEngine>) => Promise<void>) => {
  const path = mkdtempSync(join(tmpdir(), "dowser-circuit-"))
  try {
    await run(() => openEngine({ path, worker: true }))
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}
const schema = suiteSchema("c", [suiteField("name", "string")])
/** The engine answers by itself unless an answer is set here. */
const switched = (engine: SearchEngine) => {
  let answer: undefined | (() => Promise<Result<never>>)
  const calls = { count: 0 }
  const engineLike: SearchEngine = {
    ...engine,
    capabilities: () => engine.capabilities(),
    listCollections: (...given) => engine.listCollections(...given),
    describeCollection: (...given) => engine.describeCollection(...given),
    usage: (...given) => engine.usage(...given),
    health: () => engine.health(),
    close: () => engine.close(),
    union: (...given) => engine.union(...given),
    createCollection: (...given) => engine.createCollection(...given),
    alterCollection: (...given) => engine.alterCollection(...given),
    dropCollection: (...given) => engine.dropCollection(...given),
    get: (...given) => engine.get(...given),
    scan: (...given) => engine.scan(...given),
    write: (...given) => (answer === undefined ? engine.write(...given) : (calls.count++, answer())),
    search: (...given) =>
      answer === undefined ? engine.search(...given) : (calls.count++, answer().then((one) => given[1].map(() => one)))
  }
  return {
    engine: engineLike,
    calls,
    say: (next: typeof answer) => {
      answer = next
    }
  }
}
const away = async () => fail({ kind: "Unavailable" as const, message: "connection refused" })

/** Ends the thread of the engine's writer at once. */
const kill = async (engine: LocalEngine): Promise<void> => {
  const { worker } = (engine as unknown as { readonly port: { readonly worker: Worker } }).port
  const gone = new Promise((settled) => worker.once("exit", settled))
  await worker.terminate()
  await gone
}

describe("an engine behind its circuits", () => {
  it("gets no calls while it is unavailable, then one after the wait, and all of them once that one is answered", () =>
    inFolder(async (openReal) => {
      const real = await openReal()
      const { calls, engine: switchable, say } = switched(real)
      let now = 0
      const seen: Array<readonly [string, CircuitState]> = []
      const engine = guardEngine(switchable, {
        reads: options,
        writes: options,
        now_ms: () => now,
        onChange: (...change) => seen.push(change)
      })
      await engine.createCollection("t", schema, 1)
      await engine.write("t", "c", [putOf({ id: "1", name: "kept" })])
      // Synchronously, without a promise: the circuit adds no delay to a search.
      expect(engine.search("t", [suitePlan("c")])).toBeInstanceOf(Array)
      say(away)
      for (let i = 0; i < 3; i++) expect(await found(engine)).toBe("Unavailable")
      expect(engine.circuits()).toEqual({ reads: "open", writes: "closed" })
      expect(calls.count).toBe(3)
      const [refused] = await engine.search("t", [suitePlan("c"), suitePlan("c")])
      expect(refused).toMatchObject({ ok: false, error: { kind: "Overloaded", retryAfterSeconds: 10 } })
      expect(calls.count).toBe(3)
      now += 500
      expect(engine.circuits().reads).toBe("half_open")
      // Of many concurrent requests, one is let through.
      expect((await Promise.all([found(engine), found(engine), found(engine)])).sort()).toEqual([
        "Overloaded",
        "Overloaded",
        "Unavailable"
      ])
      expect(calls.count).toBe(4)
      now += 499
      expect(await found(engine)).toBe("Overloaded")
      say(undefined)
      now += 1
      expect(await found(engine)).toBe(1)
      expect(await found(engine)).toBe(1)
      expect(seen).toEqual([
        ["reads", "open"],
        ["reads", "half_open"],
        ["reads", "open"],
        ["reads", "half_open"],
        ["reads", "closed"]
      ])
      await engine.close()
    }))
  it("is not considered unavailable after refusals, an overload that it reports itself, one failed plan of several, or a defect", () =>
    inFolder(async (openReal) => {
      const real = await openReal()
      const { engine: switchable, say } = switched(real)
      const engine = guardEngine(switchable, { reads: options, writes: options })
      await engine.createCollection("t", schema, 1)
      const refusals: ReadonlyArray<EngineError> = [
        { kind: "Invalid", message: "" },
        { kind: "NotFound", message: "" },
        { kind: "Conflict", message: "" },
        { kind: "Overloaded", message: "", retryAfterSeconds: 1 }
      ]
      for (const error of refusals) {
        say(async () => fail(error))
        for (let i = 0; i < 10; i++) expect(await found(engine)).toBe(error.kind)
      }
      say(() => Promise.reject(new Error("a defect")))
      for (let i = 0; i < 10; i++) await expect(found(engine)).rejects.toThrow("a defect")
      expect(engine.circuits()).toEqual({ reads: "closed", writes: "closed" })
      const halves = guardEngine(
        {
          ...switchable,
          search: async (_, plans) =>
            plans.map((_plan, i) =>
              i === 0
                ? fail({ kind: "Unavailable", message: "" } as const)
                : fail({ kind: "Invalid", message: "" } as const)
            )
        },
        { reads: options }
      )
      for (let i = 0; i < 10; i++) await halves.search("t", [suitePlan("c"), suitePlan("c")])
      expect(halves.circuits().reads).toBe("closed")
      say(undefined)
      expect(await found(engine)).toBe(0)
      await engine.close()
    }))
  it("never hangs: a call beyond its time limit fails as unavailable, and a later answer to it changes nothing", () =>
    inFolder(async (openReal) => {
      const real = await openReal()
      const { engine: switchable, say } = switched(real)
      let now = 0
      const engine = guardEngine(switchable, {
        reads: options,
        writes: options,
        now_ms: () => now,
        read_ms: 20,
        write_ms: 20
      })
      await engine.createCollection("t", schema, 1)
      const late: Array<() => void> = []
      say(
        () =>
          new Promise((settleLate) => {
            late.push(() => settleLate(ok(undefined) as unknown as Result<never>))
          })
      )
      expect(await Promise.all([found(engine), found(engine), found(engine)])).toEqual([
        "Unavailable",
        "Unavailable",
        "Unavailable"
      ])
      const writes = await Promise.all([1, 2, 3].map(() => engine.write("t", "c", [putOf({ id: "1" })])))
      expect(writes.map((answer) => answer.ok)).toEqual([false, false, false])
      expect(engine.circuits()).toEqual({ reads: "open", writes: "open" })
      for (const answer of late) answer()
      expect(engine.circuits()).toEqual({ reads: "open", writes: "open" })
      expect(await found(engine)).toBe("Overloaded")
      say(undefined)
      now += 500
      expect(await found(engine)).toBe(0)
      await engine.close()
    }))
  it("keeps searching while its writer is killed again and again, and writes as soon as the writer is back", () =>
    inFolder(async (openReal) => {
      const opened: Array<LocalEngine> = []
      const supervised = await superviseEngine({
        open: async () => {
          const next = await openReal()
          opened.push(next)
          return next
        },
        onLost: () => {},
        checkEvery_ms: 10
      })
      const engine = guardEngine(supervised, {
        writes: { failuresMax: 3, wait_ms: 20 },
        reads: { failuresMax: 3, wait_ms: 20 }
      })
      await engine.createCollection("t", schema, 1)
      const acknowledged = new Set<string>()
      const kinds = new Set<string>()
      for (let round = 0; round < 4; round++) {
        const before = opened.length
        await kill(opened.at(-1)!)
        for (let i = 0; i < 4; i++) {
          const answer = await engine.write("t", "c", [putOf({ id: `${round}-${i}`, name: "n" })])
          if (!answer.ok) kinds.add(answer.error.kind)
          else if (answer.value[0].result.ok) acknowledged.add(`${round}-${i}`)
          expect(await found(engine)).toBe(acknowledged.size)
        }
        const deadline = performance.now() + 10_000
        for (let written = false; !written && performance.now() < deadline;) {
          const answer = await engine.write("t", "c", [putOf({ id: `${round}-back`, name: "n" })])
          written = answer.ok && answer.value[0].result.ok
          if (written) acknowledged.add(`${round}-back`)
          else await new Promise((after) => setTimeout(after, 5))
        }
        expect(acknowledged).toContain(`${round}-back`)
        expect(opened.length).toBe(before + 1)
        expect(engine.circuits()).toEqual({ reads: "closed", writes: "closed" })
      }
      expect(await found(engine)).toBe(acknowledged.size)
      expect([...kinds].sort()).toEqual(["Overloaded", "Unavailable"])
      await engine.close()
    }))
})
