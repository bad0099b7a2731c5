/**
 * A disk that refuses writes for a while: nothing that was not stored can be found afterwards, and writes are accepted
 * again as soon as the disk accepts them.
 */
import { spawnSync } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { LocalEngine } from "../src/memory/local-engine.ts"
import { openEngine } from "../src/mod.ts"
import { EarlyReads } from "../src/memory/early-reads.ts"
import type { Journal } from "../src/store/journal.ts"
import { LmdbJournal } from "../src/store/lmdb-journal.ts"
import { Writer } from "../src/store/writer.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const schema = suiteSchema("c", [suiteField("name", "string"), suiteField("n", "int32")])
const full = (): Error => Object.assign(new Error("no space left on device"), { code: "ENOSPC" })
/** The real journal; while the disk is full, commits are accepted, fail later, and store nothing. */
const refusing = (
  journal: LmdbJournal,
  disk: { isFull: boolean; probes: number; fails: Promise<void> | undefined }
): Journal =>
  new Proxy<Journal>(journal, {
    get: (real, name) => {
      if (name === "commit")
        return (...given: Parameters<Journal["commit"]>) =>
          disk.isFull
            ? (disk.fails ?? Promise.resolve()).then(() => {
                throw full()
              })
            : journal.commit(...given)
      if (name === "probe")
        return () => {
          disk.probes++
          return disk.isFull ? Promise.reject(full()) : journal.probe()
        }
      if (name === "saveIndex" || name === "saveCollection")
        return (...given: unknown[]) =>
          disk.isFull
            ? Promise.reject(full())
            : (Reflect.get(real, name, real) as (...all: unknown[]) => unknown).apply(real, given)
      const value = Reflect.get(real, name, real) as unknown
      return typeof value === "function" ? (value as (...given: unknown[]) => unknown).bind(real) : value
    }
  })
interface Bench {
  readonly engine: LocalEngine
  readonly disk: { isFull: boolean; probes: number; fails: Promise<void> | undefined }
  readonly path: string
}
const withDisk = async (body: (bench: Bench) => Promise<void>): Promise<void> => {
  const path = await mkdtemp(join(tmpdir(), "engine-refusing-"))
  try {
    const journal = await LmdbJournal.open(path)
    const disk: Bench["disk"] = { isFull: false, probes: 0, fails: undefined }
    const engine = new LocalEngine(
      "embedded",
      new EarlyReads({
        text: (key, seq) => journal.readable(key, seq),
        bytes: (key) => journal.documentBytes(key),
        refresh: () => {}
      }),
      Infinity,
      Infinity
    )
    const writer = new Writer(
      refusing(journal, disk),
      (event) => engine.apply(event),
      { prepare: (...given) => engine.prepare(...given) },
      Infinity
    )
    engine.attach(writer)
    writer.start()
    for (const namespace of ["t", "u"]) await engine.createCollection(namespace, schema, 1)
    await body({ engine, disk, path })
    await engine.close()
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}
const idsIn = async (engine: LocalEngine, namespace = "t"): Promise<ReadonlyArray<string>> => {
  const page = await engine.scan(namespace, { collection: "c", filter: undefined, limit: 10_000 })
  if (!page.ok) throw new Error(page.error.message)
  return [...page.value.ids].sort()
}
const found = async (engine: LocalEngine, word: string): Promise<number> => {
  const [answer] = await engine.search("t", [
    suitePlan("c", {
      text: suiteText([word], ["name"], {
        fields: [{ field: "name", weight: 15, numTypos: 0, prefix: false, infix: "off" }],
        dropTokensThreshold: 0
      })
    })
  ])
  if (!answer.ok) throw new Error(answer.error.message)
  return answer.value.found
}
const outcome = async (engine: LocalEngine, documents: ReadonlyArray<object>, namespace = "t"): Promise<unknown> => {
  const written = await engine.write(
    namespace,
    "c",
    documents.map((document) => putOf(document as Parameters<typeof putOf>[0]))
  )
  return written.ok ? written.value.every(({ result }) => result.ok) : written.error.kind
}
const freed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 120))

it("takes back what was found early, keeps what it replaced, and continues", () =>
  withDisk(async ({ disk, engine, path }) => {
    expect(
      await outcome(engine, [
        { id: "a", name: "first", n: 1 },
        { id: "b", name: "second", n: 2 }
      ])
    ).toBe(true)
    let fail = (): void => {}
    disk.isFull = true
    disk.fails = new Promise((resolve) => {
      fail = resolve
    })
    const early = outcome(engine, [
      { id: "a", name: "replaced", n: 9 },
      { id: "c", name: "unstored", n: 3 }
    ])
    // The document is found before the disk has reported anything.
    while ((await found(engine, "unstored")) === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(await found(engine, "first")).toBe(0)
    fail()
    expect(await early).toBe("Unavailable")
    expect([await found(engine, "unstored"), await found(engine, "replaced"), await found(engine, "first")]).toEqual([
      0, 0, 1
    ])
    expect(await idsIn(engine)).toEqual(["a", "b"])
    expect(engine.describeCollection("t", "c")?.num_documents).toBe(2)
    // Writes are refused without another attempt, however many arrive at once.
    disk.fails = undefined
    const before = disk.probes
    expect(
      await Promise.all(Array.from({ length: 20 }, (_write, i) => outcome(engine, [{ id: `x${i}`, name: "refused" }])))
    ).toEqual(Array(20).fill("Unavailable"))
    expect(disk.probes - before).toBeLessThanOrEqual(1)
    expect(await idsIn(engine)).toEqual(["a", "b"])
    // Another tenant's collection has not failed yet; its own next write notices it, and nothing changes for the first.
    expect(await outcome(engine, [{ id: "other", name: "other" }], "u")).toBe("Unavailable")
    disk.isFull = false
    await freed()
    expect(await outcome(engine, [{ id: "c", name: "third", n: 3 }], "t")).toBe(true)
    expect(await outcome(engine, [{ id: "other", name: "other" }], "u")).toBe(true)
    expect([await idsIn(engine), await idsIn(engine, "u"), await found(engine, "third")]).toEqual([
      ["a", "b", "c"],
      ["other"],
      1
    ])
    await engine.close()
    const again = await openEngine({ path })
    expect([
      await idsIn(again),
      await found(again, "first"),
      again.describeCollection("t", "c")?.num_documents
    ]).toEqual([["a", "b", "c"], 1, 3])
    await again.close()
  }))

it("contains exactly what it acknowledged, whenever the disk is full", () =>
  withDisk(async ({ disk, engine, path }) => {
    const random = randomOf(21)
    const kept = new Map<string, string>()
    let refused = 0
    for (let round = 0; round < 60; round++) {
      if (random.chance(0.2)) {
        disk.isFull = !disk.isFull
        if (!disk.isFull) await freed()
      }
      const documents = [
        ...new Set(Array.from({ length: random.pick([1, 3, 80, 1_500]) }, () => `d${random.below(2_000)}`))
      ].map((id) => ({ id, name: `round${round}`, n: round }))
      const answer = await outcome(engine, documents)
      if (answer === true) for (const { id, name } of documents) kept.set(id, name)
      else {
        expect(answer).toBe("Unavailable")
        refused++
      }
      if (round % 10 === 9) expect(await idsIn(engine)).toEqual([...kept.keys()].sort())
    }
    disk.isFull = false
    expect(refused).toBeGreaterThan(3)
    const check = async (checked: LocalEngine): Promise<void> => {
      const got = await checked.get("t", "c", [...kept.keys()])
      expect(got.ok && got.value.map((document) => document?.name)).toEqual([...kept.values()])
      expect(checked.describeCollection("t", "c")?.num_documents).toBe(kept.size)
      const last = [...kept.values()].sort((a, b) => Number(b.slice(5)) - Number(a.slice(5)))[0]
      expect(await found(checked, last)).toBe([...kept.values()].filter((name) => name === last).length)
    }
    await check(engine)
    await engine.close()
    const again = await openEngine({ path })
    await check(again)
    await again.close()
  }))

it("refuses a collection that it cannot store, and creates it as soon as it can", () =>
  withDisk(async ({ disk, engine }) => {
    disk.isFull = true
    const refused = await engine.createCollection("t", suiteSchema("late", [suiteField("name", "string")]), 1)
    expect(refused.ok ? refused : refused.error.kind).toBe("Unavailable")
    expect(engine.describeCollection("t", "late")).toBe(undefined)
    disk.isFull = false
    expect((await engine.createCollection("t", suiteSchema("late", [suiteField("name", "string")]), 1)).ok).toBe(true)
  }))

/** A limit on file size stands in for a full disk; the writes fail in the library below. */
const limitMissing = (): string | undefined =>
  process.platform === "linux" && spawnSync("prlimit", ["--version"]).status === 0
    ? undefined
    : "limits of a running program need Linux and prlimit"
it.skipIf(limitMissing() !== undefined).each(["same thread", "worker"])(
  `${limitMissing() ?? ""}a real file that may not grow: told, taken back, and forgotten when it may (%s)`,
  async (worker) => {
    const path = await mkdtemp(join(tmpdir(), "engine-full-"))
    try {
      const isDeno = "Deno" in globalThis
      const child = [
        process.execPath,
        ...(isDeno ? ["run", "-A"] : []),
        fileURLToPath(new URL("./full-disk-child.ts", import.meta.url)),
        path,
        worker
      ]
      // With the signal ignored, the write itself fails, as on a full disk.
      const ran = spawnSync("sh", ["-c", "trap '' XFSZ; exec \"$@\"", "sh", ...child], {
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
        encoding: "utf8",
        timeout: 50_000
      })
      expect(ran.stdout, ran.stderr).toMatch(/^\{.*\}\n$/)
      expect(JSON.parse(ran.stdout)).toEqual({
        before: [true, 100],
        large: ["Unavailable", 100],
        small: ["Unavailable", 100],
        after: [true, true, 1_101],
        health: true,
        again: [1_101, 1_101]
      })
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }
)
