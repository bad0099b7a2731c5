/**
 * Applying pushes, without an engine, a database or a clock: random pushes, read again from earlier offsets, with
 * crashes before the engine, inside its write and before the transaction. The result equals that of applying one change
 * after the other from the same log, and each change has one line in the journal.
 */
import { describe, expect, it } from "vitest"
import {
  type Arrived,
  decide,
  decideFailed,
  documentKey,
  type DocumentVersion
} from "../../../src/connectors/applying/decide.ts"
import type { KnownDocuments } from "../../../src/connectors/applying/apply-batch.ts"
import { type Entry, type Line, Lines } from "../../../src/connectors/applying/lines.ts"
import { arrivedOf, outcomeOf } from "../../../src/connectors/applying/outcome.ts"
import type { Push, PushedChange } from "../../../src/connectors/push.ts"
import { Draws } from "../../support/simulation/random.ts"

const PARTITIONS = 2
interface Stored {
  readonly organizationId: string
  readonly partition: number
  readonly push: Push
}
/** Few documents, so that changes collide; the same ids in both organizations. */
const drawLog = (draws: Draws): ReadonlyArray<ReadonlyArray<Stored>> => {
  const log: Array<Array<Stored>> = Array.from({ length: PARTITIONS }, () => [])
  for (let job = 0; job < 60; job++) {
    const organizationId = draws.pick(["org_a", "org_b"])
    const collection = draws.pick(["goods", "news"])
    const partition = draws.whole(0, PARTITIONS - 1)
    const changes = Array.from({ length: draws.whole(1, 8) }, (_, i): PushedChange => {
      const isDeletion = draws.chance(0.25)
      // A document stays in its partition.
      const external_id = `${partition}-${draws.whole(0, 5)}`
      return {
        external_id,
        op: isDeletion ? "delete" : "upsert",
        ...(draws.chance(0.6) ? { version: draws.whole(1, 12) } : {}),
        ...(isDeletion ? {} : { document: draws.chance(0.1) ? "bad" : `${job}.${i}` })
      }
    })
    const connector_id = `con_${organizationId}_${collection}`
    const push: Push = { connector_id, collection, job_id: `job_${job}`, part: 0, changes }
    log[partition]!.push({ organizationId, partition, push })
  }
  return log
}

/** Applies one change after the other, by the documented rules. */
const makeModel = (log: ReadonlyArray<ReadonlyArray<Stored>>) => {
  const shop = new Map<string, { text: string | undefined; newest: number; gone: boolean }>()
  const fates: Array<string> = []
  for (const records of log)
    for (const { push } of records)
      push.changes.forEach(({ document, external_id, op, version }, i) => {
        const key = documentKey(push.connector_id, external_id)
        const now = shop.get(key) ?? { text: undefined, newest: Number.NEGATIVE_INFINITY, gone: false }
        shop.set(key, now)
        const isBehind = version !== undefined && version < now.newest
        const wouldReturn = version !== undefined && now.gone && op === "upsert" && version === now.newest
        const line = `${push.job_id} ${i} ${external_id}`
        if (isBehind || wouldReturn) return fates.push(`${line} ignored`)
        now.newest = version ?? now.newest
        now.gone = op === "delete"
        if (op === "upsert" && document === "bad") return fates.push(`${line} failed`)
        now.text = op === "delete" ? undefined : document
        return fates.push(`${line} applied`)
      })
  const texts = new Map([...shop].flatMap(([key, { text }]) => (text === undefined ? [] : [[key, text] as const])))
  return { texts, fates: fates.sort() }
}

/** The state that survives a crash. */
class World {
  readonly engine = new Map<string, string>()
  readonly known = new Map<string, DocumentVersion>()
  readonly journal: Array<string> = []
  readonly offsets = Array.from({ length: PARTITIONS }, () => 0)
  counted = 0
}
const refusalOf = ({ change }: Arrived) => (change.document === "bad" ? "The document is bad." : undefined)

/** A batch that the engine has, but that is not recorded yet. */
interface Ahead {
  readonly entries: ReadonlyArray<Entry>
  readonly known: KnownDocuments
  readonly record: () => void
}
/** One run: until everything is applied, or until a crash. Returns whether everything was applied. */
const live = (world: World, log: ReadonlyArray<ReadonlyArray<Stored>>, draws: Draws, crash: number): boolean => {
  const lines = new Lines(() => 1)
  const positions = world.offsets.map((offset) => (draws.chance(0.3) ? draws.whole(0, offset) : offset))
  const atWork: Array<{ readonly line: Line; ahead: Ahead | undefined }> = []
  const read = (partition: number) => {
    const offset = positions[partition]!++
    const { organizationId, push } = log[partition]![offset]!
    const { changes, collection } = push
    // Small batches, so that there are many.
    const bytes = draws.pick([100, 3_000_000])
    lines.put({ organizationId, collection, partition, offset, changes: changes.length, bytes, push })
  }
  const unread = () => [...positions.keys()].filter((partition) => positions[partition]! < log[partition]!.length)
  /** Undefined stands for a crash inside the write. */
  const write = (entries: ReadonlyArray<Entry>, before: KnownDocuments = new Map()): Ahead | undefined => {
    const parts = entries.map((entry) => ({ entry, push: log[entry.partition]![entry.offset]!.push }))
    const arrived = arrivedOf(parts)
    const decided = decide(arrived, new Map([...world.known, ...before]))
    const writes = arrived.filter((_, i) => decided.fates[i] === "write")
    const written = draws.chance(crash) ? draws.whole(0, writes.length) : writes.length
    for (const one of writes.slice(0, written)) {
      const key = documentKey(one.connectorId, one.change.external_id)
      if (one.change.op === "delete") world.engine.delete(key)
      else if (refusalOf(one) === undefined) world.engine.set(key, one.change.document!)
    }
    if (written < writes.length) return undefined
    const found = outcomeOf(parts, arrived, decided, writes.map(refusalOf), 1)
    const record = () => {
      let i = 0,
        noted = 0
      for (const { push } of parts)
        push.changes.forEach(({ external_id }, at) => {
          if (decided.fates[i++] === "skipped") return
          const entry = found.entries[noted++]!
          world.journal.push(`${push.job_id} ${at} ${external_id} ${entry.status}`)
        })
      for (const { connectorId, externalId, known } of found.documents)
        world.known.set(documentKey(connectorId, externalId), known)
      for (const { applied, failed, ignored } of found.pushes) world.counted += applied + ignored + failed
      for (const { partition } of entries)
        world.offsets[partition] = Math.max(
          world.offsets[partition]!,
          lines.lowest(partition, entries) ?? positions[partition]!
        )
    }
    return { entries, known: decided.known, record }
  }
  for (let steps = 0; ; steps++) {
    // Some hundreds of steps suffice.
    if (steps > 100_000) throw new Error("The lines never run empty.")
    const open = unread()
    if (open.length > 0 && draws.chance(0.5)) read(draws.pick(open))
    const line = atWork.length < 2 && draws.chance(0.7) ? lines.next() : undefined
    if (line !== undefined) atWork.push({ line, ahead: undefined })
    if (atWork.length === 0) {
      if (open.length === 0 && lines.size === 0) return true
      continue
    }
    if (draws.chance(0.4)) continue
    const mine = draws.pick(atWork)
    const entries = lines.batchOf(mine.line, mine.ahead?.entries.length)
    const isLast = entries.length === 0 || (mine.ahead !== undefined && draws.chance(0.3))
    const next = isLast ? undefined : write(entries, mine.ahead?.known)
    if (!isLast && next === undefined) return false
    // The next batch is written before the previous one is recorded.
    if (draws.chance(crash)) return false
    if (mine.ahead !== undefined) {
      mine.ahead.record()
      lines.applied(mine.line, mine.ahead.entries)
    }
    // The line is empty, or the engine is unavailable.
    if (isLast || draws.chance(0.1)) {
      atWork.splice(atWork.indexOf(mine), 1)
      if (isLast) lines.release(mine.line, 1)
      else lines.again(mine.line)
    } else mine.ahead = next
  }
}
describe("random pushes", () => {
  it("have the result of one change after the other, over 200 schedules with crashes and repeated reads", () => {
    let crashes = 0
    for (let seed = 1; seed <= 200; seed++) {
      const draws = new Draws(seed)
      const log = drawLog(draws)
      const world = new World()
      let lives = 0
      while (!live(world, log, draws, lives < 10 ? 0.15 : 0)) lives++
      crashes += lives
      const model = makeModel(log)
      const changes = log.flat().reduce((sum, { push }) => sum + push.changes.length, 0)
      expect(new Map([...world.engine].sort()), `seed ${seed}`).toEqual(new Map([...model.texts].sort()))
      expect(world.journal.sort(), `seed ${seed}`).toEqual(model.fates)
      expect([seed, world.counted]).toEqual([seed, changes])
      expect([seed, world.offsets]).toEqual([seed, log.map(({ length }) => length)])
    }
    expect(crashes).toBeGreaterThan(200)
  })
})

const arrived = (op: "upsert" | "delete", version: number | undefined, offset: number): Arrived => ({
  connectorId: "c",
  change: {
    external_id: "x",
    op,
    ...(version === undefined ? {} : { version }),
    ...(op === "delete" ? {} : { document: "{}" })
  },
  place: { partition: 0, offset, index: 0 }
})
describe("a push that failed as a whole", () => {
  it("may be sent again with the same version, and is not retried from the log", () => {
    const before = new Map([
      [documentKey("c", "x"), decide([arrived("delete", 3, 1)], new Map()).known.get("c\u0000x")!]
    ])
    const changes = [arrived("upsert", 7, 2)]
    const failed = decideFailed(changes, decide(changes, before), before)
    expect([...failed.known.values()]).toEqual([
      { version: 3, deleted: true, place: { partition: 0, offset: 2, index: 0 } }
    ])
    expect(decide(changes, failed.known).fates).toEqual(["skipped"])
    expect(decide([arrived("upsert", 7, 3)], failed.known).fates).toEqual(["write"])
  })
})

describe("lines", () => {
  const entry = (organizationId: string, offset: number, more: Partial<Entry> = {}): Entry => ({
    organizationId,
    collection: "goods",
    partition: 0,
    offset,
    changes: 1,
    bytes: 10,
    push: { connector_id: "c", collection: "goods", job_id: `j${offset}`, part: 0, changes: [] },
    ...more
  })
  it("serve an organization with one record before one with thousands, and give a line to one worker", () => {
    const lines = new Lines(() => 1)
    for (let offset = 0; offset < 10_000; offset++) lines.put(entry("flood", offset))
    const first = lines.next()!
    expect([first.organizationId, lines.next()]).toEqual(["flood", undefined])
    lines.put(entry("quiet", 10_000))
    const batch = lines.batchOf(first)
    expect(batch.length).toBe(4_096)
    lines.applied(first, batch)
    lines.release(first, 400)
    expect(lines.next()!.organizationId).toBe("quiet")
    expect(lines.lowest(0, [])).toBe(4_096)
  })
  it("keep 16 MB of what waits, and only the places of the rest", () => {
    const lines = new Lines(() => 1)
    const put = Array.from({ length: 20 }, (_, offset) => entry("a", offset, { bytes: 1_000_000 }))
    for (const one of put) lines.put(one)
    expect(put.filter(({ push }) => push !== undefined).length).toBe(16)
    const line = lines.next()!
    const batch = lines.batchOf(line)
    expect(batch.length).toBe(4)
    lines.applied(line, batch)
    const later = entry("a", 20, { bytes: 1_000_000 })
    lines.put(later)
    expect(later.push).toBeDefined()
  })
})
