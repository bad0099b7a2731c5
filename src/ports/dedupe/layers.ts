/**
 * The window in layers, newest first: the table that ids are admitted to (hot), the one whose rows are being written to
 * a run (sealing), and the sealed runs behind their filters. Its only effects are reads of run pages.
 */
import { FINGERPRINT_WORDS, type FingerprintKey } from "@dowser/log/fingerprint"
import { FingerprintTable, hourOf } from "@dowser/log/fingerprint-table"
import { type Admission, type AdmitRequest, answerOf, type Asked, fingerprintsOf } from "./admission.ts"
import { eachRow, wordsOf } from "./block.ts"
import { SealedRun } from "./run-file.ts"
import type { OpenedRun } from "./run-writer.ts"
import { filterMayHave } from "./split-block-filter.ts"

interface LayersOptions {
  readonly key: FingerprintKey
  readonly folder: string
  readonly windowHours: number
  readonly hotBytesMax: number
  /** Number of ids at which the table in memory becomes a run. */
  readonly sealIds: number
  /** Called when a run could not be read: its ids count as new until it is rebuilt. */
  readonly onDamaged: (run: string, error: Error) => void
}

/** An admission that has not been read back from the log yet: in the table of its generation, and in no run. */
interface Outstanding {
  block: Uint8Array
  readonly now: number
  generation: number
}

/** One call in progress; no run is added or removed between its filter look-ups and its answer. */
interface Look {
  readonly asked: Asked
  readonly now: number
  /** Filter hits to verify: pairs of an id and the index of a run. */
  readonly maybes: Array<number>
  next: number
  /** By id: 1 if a run contains it. */
  readonly found: Uint8Array
}

/**
 * Maximum size of the blocks kept so that the tail recognizes our own: as many as the log accepts before they are
 * stored. Beyond it the oldest are forgotten, and taken for another process's.
 */
const OUTSTANDING_BYTES_MAX = 64 * 1024 * 1024
const NO_BLOCK = new Uint8Array(0)
/**
 * Ids added to the current table for each segment prepared in the next: twice as fast as needed, because preparation
 * begins when the table is half full.
 */
const IDS_A_SEGMENT = 512
/** Reads between two readings of the clock. */
const READS_A_CLOCK = 16

/** The first fingerprint of a block (after its section row) as a number, by which our own blocks are recognized. */
const identityOf = (words: Uint32Array): number =>
  words[FINGERPRINT_WORDS]! * 2 ** 21 + (words[FINGERPRINT_WORDS + 1]! >>> 11)

export class Layers {
  readonly #options: LayersOptions
  #hot: FingerprintTable
  #sealing: FingerprintTable | undefined
  /**
   * Two tables alternate, so that neither grows from nothing each time. This is the next one: empty, or undefined while
   * it is being sealed.
   */
  #next: FingerprintTable | undefined
  /** Approximate number of ids in the hot table. */
  #hotIds = 0
  #generation = 0
  /** Newest first, because most repetitions arrive within moments. */
  #runs: ReadonlyArray<SealedRun> = []
  readonly #outstanding = new Map<number, Outstanding>()
  #outstandingBytes = 0
  #active = 0
  readonly #waiting: Array<() => void> = []

  constructor(options: LayersOptions) {
    this.#options = options
    this.#hot = this.#newTable()
    this.#next = this.#newTable()
  }
  #newTable(): FingerprintTable {
    return new FingerprintTable({
      windowHours: this.#options.windowHours,
      bytesMax: this.#options.hotBytesMax,
      ids: this.#options.sealIds
    })
  }

  get bytes(): number {
    return (
      this.#hot.bytes +
      (this.#sealing?.bytes ?? 0) +
      (this.#next?.bytes ?? 0) +
      this.#outstandingBytes +
      this.#runs.reduce((sum, run) => sum + run.bytes, 0)
    )
  }
  get runs(): ReadonlyArray<SealedRun> {
    return this.#runs
  }
  get isSealing(): boolean {
    return this.#sealing !== undefined
  }

  /**
   * Computes fingerprints and finds which runs may contain them, one run after another, so that the cache misses of
   * many ids overlap. About 35 ns an id and run of 16 million.
   */
  begin(requests: ReadonlyArray<AdmitRequest>, now: number): Look {
    const asked = fingerprintsOf(this.#options.key, requests)
    const { total, words } = asked
    const maybes: Array<number> = []
    for (let index = 0; index < this.#runs.length; index++) {
      const { filter, scale } = this.#runs[index]!
      for (let at = 0; at < words.length; at += FINGERPRINT_WORDS) {
        if (filterMayHave(filter, scale, words[at]!, words[at + 1]!)) maybes.push(at / FINGERPRINT_WORDS, index)
      }
    }
    this.#active++
    return { asked, now, maybes, next: 0, found: new Uint8Array(maybes.length > 0 ? total : 0) }
  }

  /** Reads files until everything is checked (true) or `until` (of `performance.now()`) has passed. */
  confirm(look: Look, until: number): boolean {
    const {
      asked: { words },
      found,
      maybes,
      now
    } = look
    const oldest = this.oldestHour(now)
    for (let reads = 0; look.next < maybes.length; look.next += 2) {
      const id = maybes[look.next]!
      const at = id * FINGERPRINT_WORDS
      // A page is read only for ids that are not found in memory.
      if (found[id] === 1 || this.#hot.has(words, at, now) || this.#sealing?.has(words, at, now) === true) continue
      const run = this.#runs[maybes[look.next + 1]!]!
      try {
        if (run.hourOf(words, at) >= oldest) found[id] = 1
      } catch (error) {
        // The ids of the run count as new until it has been rebuilt; it is not queried again.
        this.whenIdle(() => this.changed([run.name], undefined))
        this.#options.onDamaged(run.name, error as Error)
      }
      if (++reads % READS_A_CLOCK === 0 && performance.now() >= until) {
        look.next += 2
        return look.next >= maybes.length
      }
    }
    return true
  }

  /** Admits ids that no layer contains. */
  answer({ asked, found, now }: Look): Admission {
    const hot = this.#hot,
      sealing = this.#sealing
    hot.touch(asked.words)
    sealing?.touch(asked.words)
    const admission = answerOf(
      asked,
      (words, at, id) => found[id] !== 1 && sealing?.has(words, at, now) !== true && hot.admit(words, at, now)
    )
    if (admission.block.length === 0) return admission
    this.#remember(admission.block, now)
    this.#grew(admission.block.byteLength / (4 * FINGERPRINT_WORDS))
    return admission
  }
  /** Must follow every `begin`, whatever its result. */
  end(): void {
    if (--this.#active === 0) for (const change of this.#waiting.splice(0)) change()
  }
  /** Runs `change` now, or once no call is between its look-up and its answer; in order. */
  whenIdle(change: () => void): void {
    if (this.#active === 0) change()
    else this.#waiting.push(change)
  }

  /** Prepares the memory of the next table step by step, until the current one is full. */
  #grew(ids: number): void {
    this.#hotIds += ids
    if (2 * this.#hotIds > this.#options.sealIds) this.#next?.prepare(Math.ceil(ids / IDS_A_SEGMENT))
  }

  #remember(block: Uint8Array, now: number): void {
    this.#outstanding.set(identityOf(wordsOf(block)), { block, now, generation: this.#generation })
    this.#outstandingBytes += block.byteLength
    for (const [identity, oldest] of this.#outstanding) {
      if (this.#outstandingBytes <= OUTSTANDING_BYTES_MAX) break
      this.#release(identity, oldest)
    }
  }
  /** Finds our own admission that matches this block of the log, and removes it from the list. */
  #recognise(words: Uint32Array): Outstanding | undefined {
    if (words.length < 2 * FINGERPRINT_WORDS) return undefined
    const identity = identityOf(words)
    const own = this.#outstanding.get(identity)
    if (own === undefined || own.block.byteLength !== words.byteLength) return undefined
    this.#release(identity, own)
    return own
  }
  #release(identity: number, own: Outstanding): void {
    this.#outstanding.delete(identity)
    this.#outstandingBytes -= own.block.byteLength
    // A Map's former tables may keep removed entries alive until a full collection (`ARCHITECTURE.md`).
    own.block = NO_BLOCK
  }

  /** Undoes an admission. What is already in a run came from the log, and stays. */
  forget(block: Uint8Array): void {
    const words = wordsOf(block)
    this.#recognise(words)
    eachRow(words, 0, words.length, (row, at) => {
      this.#hot.forget(row, at)
      this.#sealing?.forget(row, at)
    })
  }

  /** A block read from the log: our own ids are known already, those of other processes are admitted. */
  tailed(words: Uint32Array, appendedAt: number): void {
    if (this.#recognise(words)?.generation === this.#generation) return
    this.restored(words, appendedAt)
  }
  restored(words: Uint32Array, appendedAt: number): number {
    const rows = eachRow(words, 0, words.length, (row, at) => void this.#hot.admit(row, at, appendedAt))
    this.#grew(rows)
    return rows
  }

  /** From now on a new table admits ids; the old one is queried until its rows are in a run. */
  swap(): void {
    this.#sealing = this.#hot
    this.#hot = this.#next ?? this.#newTable()
    this.#hotIds = 0
    this.#next = undefined
    this.#generation++
  }

  /** Replaces the set of runs. */
  install(runs: ReadonlyArray<OpenedRun>): void {
    for (const run of this.#runs) run.close()
    this.#runs = []
    this.#runs = this.#ordered(runs.map((run) => new SealedRun(this.#options.folder, run)))
  }
  #ordered(runs: ReadonlyArray<SealedRun>): ReadonlyArray<SealedRun> {
    return [...runs].sort((a, b) => b.header.from - a.header.from)
  }

  /** A run was sealed. `isCovering`: every row of the sealing table that has been read from the log is now in a run. */
  sealed(run: OpenedRun, isCovering: boolean): void {
    this.#runs = this.#ordered([...this.#runs, new SealedRun(this.#options.folder, run)])
    if (!isCovering || this.#sealing === undefined) return
    this.#sealing.clear()
    this.#next = this.#sealing
    this.#sealing = undefined
    // Admissions that have not been read back from the log are in no run: they move to the remaining table.
    for (const own of this.#outstanding.values()) {
      if (own.generation === this.#generation) continue
      own.generation = this.#generation
      this.restored(wordsOf(own.block), own.now)
    }
  }

  changed(removed: ReadonlyArray<string>, added: OpenedRun | undefined): void {
    const fresh = added === undefined ? [] : [new SealedRun(this.#options.folder, added)]
    for (const run of this.#runs) if (removed.includes(run.name)) run.close()
    this.#runs = this.#ordered([...this.#runs.filter(({ name }) => !removed.includes(name)), ...fresh])
  }

  /** The oldest hour in the window. */
  oldestHour(now: number): number {
    return hourOf(now) - this.#options.windowHours
  }
  close(): void {
    for (const run of this.#runs) run.close()
    this.#runs = []
  }
}
