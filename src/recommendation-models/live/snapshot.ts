/**
 * The state on disk: one file, replaced atomically. A line of JSON describes where everything is and how far the log
 * was read; columns follow as they are in memory, one collection after another, each after a line of its own.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readSync, renameSync, writeSync } from "node:fs"
import { join } from "node:path"
import type { ModelImage } from "@dowser/engine-sdk/recommend"
import type { LiveModels, StoredModel } from "./live-models.ts"
import type { Position } from "./messages.ts"

const FORMAT = "dowser recommendations 1"
const FILE = "state"
/** Longest line that is accepted. */
const LINE_BYTES_MAX = 2 ** 30

type Words = Uint32Array<ArrayBuffer>
interface ModelLine {
  readonly organizationId: string
  readonly collection: string
  readonly firstAt: number
  readonly ids: ReadonlyArray<string | null | undefined>
  readonly heads: readonly [number, number, number, number]
  readonly used: number
  readonly words: ReadonlyArray<number>
  readonly marks: readonly [number, number]
}

class Writer {
  readonly #file: number
  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600)
  }
  line(value: unknown): void {
    const text = Buffer.from(JSON.stringify(value))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(text.length)
    this.bytes(length)
    this.bytes(text)
  }
  bytes(view: ArrayBufferView): void {
    const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength)
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at, bytes.length - at)
  }
  close(): void {
    fsyncSync(this.#file)
    closeSync(this.#file)
  }
}
class Reader {
  readonly #file: number
  constructor(path: string) {
    this.#file = openSync(path, "r")
  }
  /** Returns the next line; undefined at the end. */
  line(): unknown {
    const length = Buffer.alloc(4)
    if (readSync(this.#file, length, 0, 4, null) === 0) return undefined
    const bytes = length.readUInt32LE()
    if (bytes > LINE_BYTES_MAX) throw new Error("the snapshot is damaged")
    const text = Buffer.alloc(bytes)
    this.#fill(text)
    return JSON.parse(text.toString())
  }
  words(length: number): Words {
    const words = new Uint32Array(length)
    this.#fill(Buffer.from(words.buffer))
    return words
  }
  marks(length: number): Uint16Array<ArrayBuffer> {
    const marks = new Uint16Array(length)
    this.#fill(Buffer.from(marks.buffer))
    return marks
  }
  #fill(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const read = readSync(this.#file, bytes, at, bytes.length - at, null)
      if (read === 0) throw new Error("the snapshot ends early")
      at += read
    }
  }
  close(): void {
    closeSync(this.#file)
  }
}
const columnsOf = ({ baskets, sessions, visitors }: ModelImage): ReadonlyArray<Words> => [
  ...sessions.columns,
  ...baskets.columns,
  ...visitors.columns
]

/** Blocks until everything is on disk, which takes as long as the disk needs for the state's bytes. */
export const storeSnapshot = (folder: string, state: LiveModels): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, FILE)
  const writer = new Writer(`${path}.new`)
  writer.line({ format: FORMAT, positions: state.positions })
  for (const { collection, firstAt, image, organizationId } of state.stored()) {
    const { baskets, ids, sessions, visitors } = image
    const columns = columnsOf(image)
    const line: ModelLine = {
      organizationId,
      collection,
      firstAt,
      ids,
      heads: [sessions.eventHead, sessions.sessionHead, baskets.eventHead, baskets.sessionHead],
      used: visitors.used,
      words: columns.map(({ length }) => length),
      marks: [sessions.marks.length, baskets.marks.length]
    }
    writer.line(line)
    for (const column of columns) writer.bytes(column)
    writer.bytes(sessions.marks)
    writer.bytes(baskets.marks)
  }
  writer.close()
  renameSync(`${path}.new`, path)
}

/** Fills an empty state; returns its positions, empty if there is no usable snapshot. */
export const loadSnapshot = (folder: string, state: LiveModels): ReadonlyArray<Position> => {
  let reader: Reader
  try {
    reader = new Reader(join(folder, FILE))
  } catch {
    return []
  }
  try {
    const head = reader.line() as { readonly format?: string; readonly positions?: ReadonlyArray<Position> } | undefined
    if (head?.format !== FORMAT || head.positions === undefined) return []
    const models: Array<StoredModel> = []
    for (let line = reader.line(); line !== undefined; line = reader.line())
      models.push(modelOf(reader, line as ModelLine))
    for (const model of models) state.restore(model)
    for (const position of head.positions) state.passed(position)
    return head.positions
  } catch {
    // The state is rebuilt from the log instead.
    return []
  } finally {
    reader.close()
  }
}
const SESSION_COLUMNS = 10
const modelOf = (reader: Reader, line: ModelLine): StoredModel => {
  const columns = line.words.map((length) => reader.words(length))
  const [sessionMarks, basketMarks] = [reader.marks(line.marks[0]), reader.marks(line.marks[1])]
  const [eventHead, sessionHead, basketEventHead, basketHead] = line.heads
  return {
    organizationId: line.organizationId,
    collection: line.collection,
    firstAt: line.firstAt,
    image: {
      ids: line.ids.map((id) => id ?? undefined),
      sessions: { eventHead, sessionHead, columns: columns.slice(0, SESSION_COLUMNS), marks: sessionMarks },
      baskets: {
        eventHead: basketEventHead,
        sessionHead: basketHead,
        columns: columns.slice(SESSION_COLUMNS, 2 * SESSION_COLUMNS),
        marks: basketMarks
      },
      visitors: { used: line.used, columns: columns.slice(2 * SESSION_COLUMNS) }
    }
  }
}
