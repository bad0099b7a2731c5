/**
 * The LMDB environment under the embedded event log: one named database per topic and partition, keyed by offset. It
 * handles files, frames and transactions and knows nothing about waiting callers, which `lmdb.ts` queues. Tests
 * simulate a disk by wrapping `synced`, the only operation that promises "this survives a power cut".
 */
import { type Database, open, type RootDatabase } from "lmdb"
import { copyEnvironment } from "@dowser/engine-sdk/store"
import type { LogRecord } from "./event-log.ts"
import type { LogUsage } from "./log-space.ts"

/** One write of a group. The environment keeps `value` until the commit, so it must not change. */
export interface LogWrite {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly value: Buffer
}

export interface LogEnvironment {
  /** Makes the group visible atomically. Not durable yet. */
  readonly commit: (writes: ReadonlyArray<LogWrite>) => Promise<void>
  /** Resolves when everything committed before the call is on disk. */
  readonly synced: () => Promise<void>
  /** Switches from the snapshot that this thread last read (it outlives the turn) to the newest state of the file. */
  readonly refresh: () => void
  readonly get: (topic: string, partition: number, offset: number) => LogRecord | undefined
  readonly bounds: (topic: string, partition: number) => { startOffset: number; endOffset: number }
  /** Removes at most `TRIM_RECORDS_MAX` records below `before`; returns the new start. */
  readonly trim: (topic: string, partition: number, before: number) => Promise<number>
  /** Replaces the values of records, keeping keys and times. Not durable yet. */
  readonly rewrite: (
    topic: string,
    partition: number,
    values: ReadonlyArray<{ readonly offset: number; readonly value: Uint8Array }>
  ) => Promise<void>
  /** O(databases). */
  readonly usage: () => LogUsage
  readonly close: () => Promise<void>
}

/** Records removed in one transaction: a longer one would delay the appends that wait behind it. */
const TRIM_RECORDS_MAX = 512
/** Named databases in the environment, with room for dead-letter topics and a few partitions each. */
const DATABASES_MAX = 512
const READERS_MAX = 126
const HEADER_BYTES = 10
const NEXT_OFFSETS = "next-offsets"
const META_PAGES = 2

/** Pages of a B+ tree, as LMDB counts them. */
interface TreePages {
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}
const pagesOf = ({ overflowPages, treeBranchPageCount, treeLeafPageCount }: TreePages): number =>
  overflowPages + treeBranchPageCount + treeLeafPageCount

/** `[appended at f64][key length u16][key][value]`, little-endian. */
export const frame = (appendedAt: number, key: string | undefined, value: Uint8Array): Buffer => {
  const keyBytes = key === undefined ? 0 : Buffer.byteLength(key)
  const framed = Buffer.allocUnsafe(HEADER_BYTES + keyBytes + value.length)
  framed.writeDoubleLE(appendedAt, 0)
  framed.writeUInt16LE(key === undefined ? 0 : keyBytes + 1, 8)
  if (key !== undefined) framed.write(key, HEADER_BYTES)
  framed.set(value, HEADER_BYTES + keyBytes)
  return framed
}

const unframe = (offset: number, framed: Buffer): LogRecord => {
  const keyMark = framed.readUInt16LE(8)
  const valueAt = HEADER_BYTES + (keyMark === 0 ? 0 : keyMark - 1)
  return {
    offset,
    appendedAt: framed.readDoubleLE(0),
    key: keyMark === 0 ? undefined : framed.toString("utf8", HEADER_BYTES, valueAt),
    value: framed.subarray(valueAt)
  }
}

type PartitionDatabase = Database<Buffer, number>

/** The databases of an open environment, opened on first use. */
class Databases {
  readonly root: RootDatabase<Buffer, string>
  /** The next offset of a partition from which retention has removed every record. */
  readonly meta: Database<Buffer, string>
  readonly #opened = new Map<string, PartitionDatabase>()

  constructor(root: RootDatabase<Buffer, string>) {
    this.root = root
    this.meta = root.openDB<Buffer, string>({ name: NEXT_OFFSETS, encoding: "binary" })
  }

  named(name: string): PartitionDatabase {
    let database = this.#opened.get(name)
    if (database === undefined)
      this.#opened.set(name, (database = this.root.openDB<Buffer, number>({ name, encoding: "binary" })))
    return database
  }
  of(topic: string, partition: number): PartitionDatabase {
    return this.named(`${topic}/${partition}`)
  }

  bounds(topic: string, partition: number): { startOffset: number; endOffset: number } {
    const trimmedTo = this.meta.get(`${topic}/${partition}`)?.readDoubleLE(0) ?? 0
    const last = this.#firstKey(topic, partition, true)
    const endOffset = last === undefined ? trimmedTo : last + 1
    return { startOffset: this.#firstKey(topic, partition, false) ?? endOffset, endOffset }
  }

  #firstKey(topic: string, partition: number, reverse: boolean): number | undefined {
    for (const key of this.of(topic, partition).getKeys({ limit: 1, reverse })) return key
    return undefined
  }
}

const trim = async (databases: Databases, topic: string, partition: number, before: number): Promise<number> => {
  const { meta, root } = databases
  root.resetReadTxn()
  const { endOffset, startOffset } = databases.bounds(topic, partition)
  const stop = Math.min(before, endOffset, startOffset + TRIM_RECORDS_MAX)
  if (stop <= startOffset) return startOffset
  const database = databases.of(topic, partition)
  const next = Buffer.allocUnsafe(8)
  next.writeDoubleLE(endOffset, 0)
  await root.batch(() => {
    // The end is derived from the key of the last record; before that is removed, the meta entry must record the end.
    void meta.put(`${topic}/${partition}`, next)
    for (let offset = startOffset; offset < stop; offset++) void database.remove(offset)
  })
  return stop
}

const usageOf = (databases: Databases): LogUsage => {
  const { meta, root } = databases
  root.resetReadTxn()
  const {
    free,
    lastPageNumber,
    pageSize,
    root: main
  } = root.getStats() as TreePages & {
    readonly lastPageNumber: number
    readonly pageSize: number
    readonly free: TreePages
    readonly root: TreePages
  }
  // Pages that no tree holds are free. A database that this process has not opened yet is listed in the main database.
  let held = META_PAGES + pagesOf(main) + pagesOf(free) + pagesOf(meta.getStats() as TreePages)
  for (const name of root.getKeys())
    if (name !== NEXT_OFFSETS) held += pagesOf(databases.named(name).getStats() as TreePages)
  root.resetReadTxn()
  return {
    bytes: (lastPageNumber + 1) * pageSize,
    reusableBytes: Math.max(0, lastPageNumber + 1 - held) * pageSize
  }
}

/** Opens or creates the environment. Several threads may open the same path; only one may `commit` and `trim`. */
export const openLogEnvironment = (path: string): LogEnvironment => {
  // `safeRestore` (missing in the typings): after any crash, return to the newest synced transaction. By default LMDB
  // trusts unsynced ones while the machine's boot id is unchanged, and a restored snapshot of a virtual disk can keep
  // that id.
  const options: Parameters<typeof open>[0] & { readonly safeRestore: boolean } = {
    path,
    encoding: "binary",
    maxDbs: DATABASES_MAX,
    maxReaders: READERS_MAX,
    safeRestore: true
  }
  const databases = new Databases(open<Buffer, string>(options))
  const { root } = databases
  return {
    commit: async (writes) => {
      // A database must exist before a transaction that writes to it begins.
      const targets = writes.map((write) => databases.of(write.topic, write.partition))
      await root.batch(() => {
        for (let i = 0; i < writes.length; i++) void targets[i]!.put(writes[i]!.offset, writes[i]!.value)
      })
    },
    synced: async () => {
      await root.flushed
    },
    refresh: () => root.resetReadTxn(),
    get: (topic, partition, offset) => {
      const framed = databases.of(topic, partition).get(offset)
      return framed === undefined ? undefined : unframe(offset, framed)
    },
    bounds: (topic, partition) => databases.bounds(topic, partition),
    trim: (topic, partition, before) => trim(databases, topic, partition, before),
    rewrite: async (topic, partition, values) => {
      const database = databases.of(topic, partition)
      // Read inside the transaction, so that a trim that runs before it is not undone.
      await root.transaction(() => {
        for (const { offset, value } of values) {
          const framed = database.get(offset)
          if (framed === undefined) continue
          const { appendedAt, key } = unframe(offset, framed)
          void database.put(offset, frame(appendedAt, key, value))
        }
      })
    },
    usage: () => usageOf(databases),
    close: async () => {
      await root.flushed
      await root.close()
    }
  }
}

/** Copies the log at `path` to the folder `to` as a consistent snapshot, while other processes write to it. */
export const copyLog = (path: string, to: string): Promise<void> =>
  copyEnvironment(open, path, to, { maxDbs: DATABASES_MAX, maxReaders: READERS_MAX })
/** End offsets by `topic/partition`, for a log without a writer. */
export const endOffsetsOf = async (path: string): Promise<Readonly<Record<string, number>>> => {
  const root = open<Buffer, string>({
    path,
    encoding: "binary",
    maxDbs: DATABASES_MAX,
    maxReaders: READERS_MAX,
    readOnly: true
  })
  try {
    const ends: Record<string, number> = {}
    const names = [...root.getKeys()].filter((name) => name !== NEXT_OFFSETS)
    const meta = root.openDB<Buffer, string>({ name: NEXT_OFFSETS, encoding: "binary" })
    for (const name of names) {
      ends[name] = meta.get(name)?.readDoubleLE(0) ?? 0
      for (const last of root.openDB<Buffer, number>({ name, encoding: "binary" }).getKeys({ limit: 1, reverse: true }))
        ends[name] = last + 1
    }
    return ends
  } finally {
    await root.close()
  }
}
