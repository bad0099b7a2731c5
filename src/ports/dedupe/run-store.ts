/**
 * The folder of sealed runs, for its only writer: it collects rows, seals them into a run on request, and merges runs.
 * It lives in a thread of its own (`run-worker.ts`); every step is synchronous, and a merge can be abandoned between
 * steps.
 *
 * After a crash at any point: a file with a run's name is complete, because it was synced before it was renamed. The
 * result of a merge whose inputs still exist covers their range and replaces them. Incomplete files are discarded.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { eachRow } from "./block.ts"
import { chooseMerge, choosePrune, type CompactionLimits, replacedRuns } from "./compaction.ts"
import { openRun, RunCursor } from "./run-file.ts"
import { type LogRange, ORGANIZATIONS_MAX, ROW_WORDS, RUN_SUFFIX, type RunHeader } from "./run-format.ts"
import { type OpenedRun, RunWriter, syncFolder } from "./run-writer.ts"
import { compareRows, sortRows } from "./sort-rows.ts"

export interface RunStoreOptions extends CompactionLimits {
  readonly folder: string
  /** Derived from the installation's key and the topic: runs with another mark are discarded. */
  readonly mark: string
  /** Maximum number of ids in all runs together; beyond it the organizations with the most ids lose their oldest. */
  readonly idsMax: number
}

/** One step that changed the set of runs. */
export interface Change {
  readonly removed: ReadonlyArray<string>
  readonly added: OpenedRun | undefined
}

interface KnownRun {
  readonly name: string
  readonly header: RunHeader
  readonly organizations: ReadonlyMap<number, number>
}

/** Rows merged between two checks for other work: some milliseconds. */
const STEP_ROWS = 20_000

export class RunStore {
  readonly #options: RunStoreOptions
  #runs: Array<KnownRun> = []
  #rows = new Uint32Array(1_024 * ROW_WORDS)
  #count = 0
  /** Organizations of the waiting rows, by the index that rows use for them. */
  #indexes = new Map<number, number>([[0, 0]])

  constructor(options: RunStoreOptions) {
    this.#options = options
    mkdirSync(options.folder, { recursive: true })
  }

  /** All usable runs, oldest first; unusable ones are removed and reported. Reads 2 bytes an id. */
  open(): { readonly runs: ReadonlyArray<OpenedRun>; readonly discarded: ReadonlyArray<string> } {
    const { folder, mark } = this.#options
    const discarded: Array<string> = []
    const opened = readdirSync(folder).flatMap((name) => {
      try {
        if (!name.endsWith(RUN_SUFFIX)) throw new Error(`${name} was not finished`)
        const run = openRun(folder, name)
        if (run.header.mark !== mark) throw new Error(`${name} belongs to another installation`)
        return [{ ...run, from: run.header.from, to: run.header.to, generation: run.header.generation }]
      } catch (error) {
        // A crash during a seal leaves an unfinished file; that need not be reported.
        if (name.endsWith(RUN_SUFFIX)) discarded.push((error as Error).message)
        rmSync(join(folder, name), { force: true, recursive: true })
        return []
      }
    })
    for (const { name } of replacedRuns(opened)) rmSync(join(folder, name), { force: true })
    const replaced = new Set(replacedRuns(opened))
    const kept = opened.filter((run) => !replaced.has(run)).sort((a, b) => a.from - b.from)
    this.#runs = kept.map(({ header, name, organizations }) => ({ name, header, organizations }))
    return { runs: kept.map(({ fences, filter, header, name }) => ({ name, header, fences, filter })), discarded }
  }

  /** Removes runs that must not be used. */
  discard(names: ReadonlyArray<string>): void {
    this.#runs = this.#runs.filter(({ name }) => !names.includes(name))
    this.release(names)
  }
  /** Removes files that nobody reads any longer. */
  release(names: ReadonlyArray<string>): void {
    for (const name of names) rmSync(join(this.#options.folder, name), { force: true })
    if (names.length > 0) syncFolder(this.#options.folder)
  }

  /** Rows that wait for the next seal, duplicates included. */
  get waiting(): number {
    return this.#count
  }

  /** Takes consecutive blocks (`block.ts`) in `words`; `parts` has pairs of an hour and a number of words. */
  add(words: Uint32Array, parts: ReadonlyArray<number>): void {
    let from = 0
    for (let part = 0; part < parts.length; part += 2) {
      const hour = parts[part]!
      const to = from + parts[part + 1]!
      eachRow(words, from, to, (row, at, tag) => {
        if ((this.#count + 1) * ROW_WORDS > this.#rows.length) {
          const larger = new Uint32Array(this.#rows.length * 2)
          larger.set(this.#rows)
          this.#rows = larger
        }
        const out = this.#count++ * ROW_WORDS
        for (let i = 0; i < 4; i++) this.#rows[out + i] = row[at + i]!
        this.#rows[out + 4] = ((hour << 16) | this.#indexOf(tag)) >>> 0
      })
      from = to
    }
  }
  #indexOf(tag: number): number {
    let index = this.#indexes.get(tag)
    if (index === undefined) {
      if (this.#indexes.size >= ORGANIZATIONS_MAX) return 0
      this.#indexes.set(tag, (index = this.#indexes.size))
    }
    return index
  }

  /** Seals the waiting rows into a run. Takes about half a second per million rows, mostly for sorting and the disk. */
  seal(range: LogRange): OpenedRun {
    const sorted = sortRows(this.#rows, this.#count)
    const tags = [...this.#indexes.keys()]
    const writer = new RunWriter(
      this.#options.folder,
      { ...range, mark: this.#options.mark, generation: 0 },
      this.#count
    )
    for (let row = 0; row < sorted.length; row += ROW_WORDS) writer.add(sorted, row, tags[sorted[row + 4]! & 0xffff]!)
    const organizations = writer.organizations
    const run = writer.finish()
    this.#runs = [...this.#runs, { name: run.name, header: run.header, organizations }].sort(
      (a, b) => a.header.from - b.header.from
    )
    this.#count = 0
    this.#indexes = new Map([[0, 0]])
    return run
  }

  /**
   * Merges, expires and prunes runs until nothing is left to do. Yields undefined between slices of work, and each
   * change once it is on disk; files that a change removed stay until `release`. Throws `RunCorrupt`.
   */
  *compact(oldestHour: () => number): Generator<Change | undefined, void> {
    // Prunes once per call. Pruning drops by chance, so some excess may remain, which is dropped after the next seal.
    for (let isPruned = false; ;) {
      const expired = this.#runs.filter(({ header }) => header.hourLast < oldestHour())
      if (expired.length > 0) {
        this.#runs = this.#runs.filter((run) => !expired.includes(run))
        yield { removed: expired.map(({ name }) => name), added: undefined }
      }
      const prune = isPruned
        ? new Map<number, ReadonlyMap<number, number>>()
        : choosePrune(
            this.#runs.map(({ organizations }) => organizations),
            this.#options.idsMax
          )
      if (prune.size > 0) {
        isPruned = true
        const chosen = [...prune].map(([index, shares]) => [this.#runs[index]!, shares] as const)
        for (const [run, shares] of chosen) yield* this.#merge([run], oldestHour(), shares)
        continue
      }
      const merge = chooseMerge(
        this.#runs.map(({ header }) => header),
        this.#options
      )
      if (merge === undefined) return
      yield* this.#merge(this.#runs.slice(merge.first, merge.first + merge.length), oldestHour(), new Map())
    }
  }

  /** Merges several neighbours into one run, without expired rows and without the shares that organizations lose. */
  *#merge(
    inputs: ReadonlyArray<KnownRun>,
    oldestHour: number,
    lost: ReadonlyMap<number, number>
  ): Generator<Change | undefined, void> {
    const first = inputs[0]!.header,
      last = inputs.at(-1)!.header
    const idsMax = inputs.reduce(
      (sum, { header, organizations }) =>
        sum +
        header.count -
        [...lost].reduce((gone, [tag, share]) => gone + (share >= 1 ? (organizations.get(tag) ?? 0) : 0), 0),
      0
    )
    const identity = {
      from: first.from,
      to: last.to,
      lastOffset: last.lastOffset,
      digest: last.digest,
      mark: this.#options.mark,
      generation: 1 + Math.max(...inputs.map(({ header }) => header.generation))
    }
    const writer = new RunWriter(
      this.#options.folder,
      identity,
      idsMax,
      Math.max(...inputs.map(({ header }) => header.hourLast))
    )
    const cursors: Array<RunCursor> = []
    let isFinished = false
    try {
      for (const { header, name } of inputs) cursors.push(new RunCursor(this.#options.folder, name, header))
      for (let step = 0; ; step++) {
        if (step % STEP_ROWS === STEP_ROWS - 1) yield undefined
        let least: RunCursor | undefined
        for (const cursor of cursors) {
          if (
            !cursor.isAtEnd &&
            (least === undefined || compareRows(cursor.words, cursor.at, least.words, least.at) < 0)
          )
            least = cursor
        }
        if (least === undefined) break
        const { at, words } = least
        // Mixed with the generation, so that pruning a run again drops other rows than the first time.
        const lot = Math.imul(words[at + 3]! ^ Math.imul(identity.generation, 0x9e3779b1), 0x85ebca6b)
        if (words[at + 4]! >>> 16 >= oldestHour && !((lot ^ (lot >>> 15)) >>> 0 < (lost.get(least.tag) ?? 0) * 2 ** 32))
          writer.add(words, at, least.tag)
        least.next()
      }
      // A run was discarded meanwhile: the merged run would hide the gap.
      if (!inputs.every((run) => this.#runs.includes(run))) return
      const organizations = writer.organizations
      const run = writer.finish()
      isFinished = true
      this.#runs = this.#runs.filter((each) => !inputs.includes(each))
      this.#runs = [...this.#runs, { name: run.name, header: run.header, organizations }].sort(
        (a, b) => a.header.from - b.header.from
      )
      yield { removed: inputs.map(({ name }) => name), added: run }
    } finally {
      if (!isFinished) writer.abandon()
      for (const cursor of cursors) cursor.close()
    }
  }
}
