/**
 * What moves, drops and dead processes leave behind: moves whose mover is silent, placements that a collection left,
 * documents and indices of no collection. The first process to notice clears it. All of this can be done twice, and
 * meanwhile no search finds any leftovers.
 */
import { ok, type Result } from "../errors.ts"
import { warn } from "../warning.ts"
import type { ClusterClient } from "./client.ts"
import type { Counters } from "./counters.ts"
import type { Directory, Entry } from "./directory.ts"
import { abandonedMove, clearedMove } from "./move.ts"
import { removePlacement } from "./move-requests.ts"
import { progressCounter } from "./mover.ts"
import { keyInIndex, type ClusterNames, type Placement } from "./placement.ts"

const SILENT_MS = 15_000
/** How many times a mover reports within the time after which it is considered dead. */
const BEATS = 8
/** By then, searches that started at the old placement have ended. */
const CLEAR_AFTER_MS = 40_000

interface Parts {
  readonly client: ClusterClient
  readonly names: ClusterNames
  readonly directory: Directory
  readonly counters: Counters
}
interface Seen {
  /** By the local clock. */ readonly since_ms: number
  /** Change number of the mover's last report. */ readonly change: number
}
interface LeftoverTimes {
  readonly silent_ms?: number | undefined
  readonly clear_ms?: number | undefined
}

export class Leftovers {
  readonly #client: ClusterClient
  readonly #names: ClusterNames
  readonly #directory: Directory
  readonly #counters: Counters
  readonly #silent_ms: number
  readonly #clear_ms: number
  /** By the name of a leftover: since when it has been unchanged. */ #seen = new Map<string, Seen>()

  constructor(parts: Parts, { clear_ms = CLEAR_AFTER_MS, silent_ms = SILENT_MS }: LeftoverTimes) {
    this.#client = parts.client
    this.#names = parts.names
    this.#directory = parts.directory
    this.#counters = parts.counters
    this.#silent_ms = silent_ms
    this.#clear_ms = clear_ms
  }
  get beat_ms(): number {
    return this.#silent_ms / BEATS
  }
  /** `keys`: the keys that documents have, if they were counted. */
  async look(now_ms: number, keys: ReadonlySet<string> | undefined): Promise<void> {
    const before = this.#seen
    this.#seen = new Map()
    const since = (what: string, change = 0): number => {
      const known = before.get(what)
      const seen = known?.change === change ? known : { since_ms: now_ms, change }
      this.#seen.set(what, seen)
      return now_ms - seen.since_ms
    }
    const cleared = await this.#records(since)
    if (!cleared.ok) return warn("leftovers of moves in the search cluster are not cleared", cleared.error.message)
    if (keys === undefined) {
      // Leftovers of no collection were not checked this time, so their times are kept.
      for (const [what, seen] of before) if (what.startsWith("of nobody ")) this.#seen.set(what, seen)
      return
    }
    const removed = await this.#ofNobody(keys, since)
    if (!removed.ok) warn("documents of no collection are not removed from the search cluster", removed.error.message)
  }
  async #records(since: (what: string, change?: number) => number): Promise<Result<unknown>> {
    for (const entry of this.#directory.entries) {
      const { move, moved = [] } = entry.record
      if (move !== undefined) {
        const progress = await this.#counters.look(progressCounter(move.to.key))
        if (!progress.ok) return progress
        if (since(`move ${move.to.key}`, progress.value?.change) >= this.#silent_ms) {
          const ended = await this.#ended(entry, move.to)
          if (!ended.ok) return ended
        }
      }
      for (const { from, isCleared } of moved) {
        if (isCleared || since(`left ${from.key}`) < this.#clear_ms) continue
        const cleared = await this.#cleared(entry, from)
        if (!cleared.ok) return cleared
      }
    }
    return ok(undefined)
  }
  /** Ends a move whose mover no longer renews it. If that one is only slow, it can no longer switch afterwards. */
  async #ended(entry: Entry, to: Placement): Promise<Result<unknown>> {
    if (entry.record.move?.to.key !== to.key) return ok(undefined)
    const saved = await this.#directory.save(abandonedMove(entry.record), entry.revision)
    if (!saved.ok) return saved.error.kind === "Conflict" ? ok(undefined) : saved
    await this.#counters.remove(progressCounter(to.key))
    return removePlacement(this.#client, to)
  }
  async #cleared(entry: Entry, from: Placement): Promise<Result<unknown>> {
    const removed = await removePlacement(this.#client, from)
    if (!removed.ok) return removed
    await this.#counters.remove(progressCounter(entry.record.placement.key))
    const saved = await this.#directory.save(clearedMove(entry.record, from.key), entry.revision)
    return saved.ok || saved.error.kind === "Conflict" ? ok(undefined) : saved
  }
  /** Removes indices and documents of no collection, after twice the usual time: a new collection has no record yet. */
  async #ofNobody(keys: ReadonlySet<string>, since: (what: string) => number): Promise<Result<unknown>> {
    const indices = await this.#client.ask<Readonly<Record<string, unknown>>>({
      method: "GET",
      path: `/${this.#names.documents}/_settings/index.creation_date`,
      isRepeatable: true
    })
    if (!indices.ok) return indices
    const read = await this.#directory.readChanges()
    if (!read.ok) return read
    const known = new Set(
      this.#directory.entries.flatMap(({ record: { move, moved = [], placement } }) =>
        [
          placement,
          ...(move === undefined ? [] : [move.to]),
          ...moved.flatMap((one) => (one.isCleared ? [] : one.from))
        ].map(({ key }) => key)
      )
    )
    const isOld = (what: string): boolean => since(`of nobody ${what}`) >= 2 * this.#clear_ms
    for (const index of Object.keys(indices.value)) {
      const key = keyInIndex(this.#names, index)
      if (key === undefined || known.has(key) || !isOld(index)) continue
      const removed = await removePlacement(this.#client, { kind: "own", index, key })
      if (!removed.ok) return removed
    }
    for (const key of keys) {
      if (known.has(key) || !isOld(key)) continue
      const removed = await removePlacement(this.#client, { kind: "pool", index: this.#names.pool, key })
      if (!removed.ok) return removed
    }
    return ok(undefined)
  }
}
