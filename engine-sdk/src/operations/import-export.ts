/**
 * Imports and exports documents as JSON Lines (`docs/contract/documents.md#imports`), in memory that does not grow with
 * the stream: lines are sent to the engine in batches, and one result line per input line is returned in order.
 */
import { isObject, parseBounded, stringifyJson } from "../documents/json.ts"
import { boundedText } from "../error-text.ts"
import { fail, ok, statusOf, type Result } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import type { WriteVerdict } from "../engine.ts"
import type { CollectionInfo, DirtyValues, WriteAction } from "../schema.ts"
import { actionOf, batchSizeOf, dirtyValuesOf, filterOf, flagOf, selectionOf } from "./documents.ts"
import {
  COLLECTION_NOT_FOUND,
  resolveCollection,
  type OperationContext,
  type QueryParameters,
  type StreamAnswer
} from "./operation.ts"
import { Reach, type Restrictions, UNRESTRICTED } from "./restrictions.ts"

/** As many documents as form one segment. */
const BATCH_LINES_MAX = 4_096
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024
/**
 * Bytes decoded per slice. Decoding a megabyte blocked the searching thread for 5-9 ms, and each of its lines kept the
 * entire megabyte in memory until the last line was written.
 */
const PIECE_BYTES = 64 * 1024
const LINE_BYTES_MAX = 32 * 1024 * 1024
const EXPORT_PAGE = 500
const NEWLINE = 10

/** Memory for all imports and exports of a host; one import holds up to two batches and one line. */
export interface ImportMemory {
  /** Sets the amount held to `bytes`; false if that is too much. */ readonly reserve: (bytes: number) => boolean
  /** Waits until there is room; false if that takes too long. */ readonly reserveOrWait: (
    bytes: number
  ) => Promise<boolean>
}
const UNBOUNDED: ImportMemory = { reserve: () => true, reserveOrWait: async () => true }

/** A line, or the status of its refusal: it is longer than a line may be (400), or than the available memory (429). */
type Line = string | 400 | 429
const refusalOf = {
  400: `Bad JSON: a line may have at most ${LINE_BYTES_MAX} bytes.`,
  429: "Too much is held in memory at this moment for a line of this length; send it again later."
} as const

/** Splits a byte stream into lines without newlines; blank lines are skipped. Invalid UTF-8 becomes U+FFFD. */
class Lines {
  readonly #decoder = new TextDecoder()
  /** The incomplete last line, or the status of its refusal. */
  #open: Line = ""
  #openBytes = 0

  /** Bytes held for the incomplete line. */
  get openBytes(): number {
    return typeof this.#open === "string" ? this.#openBytes : 0
  }
  /** Returns the lines that the chunk completes. */
  add(chunk: Uint8Array): ReadonlyArray<Line> {
    const text = this.#decoder.decode(chunk, { stream: true })
    const lines: Array<Line> = []
    let start = 0
    for (let end = text.indexOf("\n"); end >= 0; start = end + 1, end = text.indexOf("\n", start)) {
      this.#close(text.slice(start, end), lines)
      this.#open = ""
    }
    const newline = chunk.lastIndexOf(NEWLINE)
    this.#openBytes = newline < 0 ? this.#openBytes + chunk.length : chunk.length - newline - 1
    if (typeof this.#open === "string") this.#open += text.slice(start)
    if (this.#openBytes > LINE_BYTES_MAX) this.#open = 400
    return lines
  }
  /** Discards the incomplete line and skips its remainder; if it has been blank so far, nothing is lost. */
  drop(): void {
    if (typeof this.#open !== "string") return
    this.#open = isBlank(this.#open) ? "" : 429
    this.#openBytes = 0
  }
  /** Returns the lines completed by the end of the stream. */
  end(): ReadonlyArray<Line> {
    const lines: Array<Line> = []
    this.#close(this.#decoder.decode(), lines)
    return lines
  }
  #close(rest: string, lines: Array<Line>): void {
    const line = typeof this.#open !== "string" ? this.#open : this.#open === "" ? rest : this.#open + rest
    if (typeof line !== "string" || !isBlank(line)) lines.push(line)
  }
}
const isBlank = (line: string): boolean => line === "" || (line.charCodeAt(0) <= 32 && line.trim() === "")

interface ImportSettings {
  readonly action: WriteAction
  readonly dirtyValues: DirtyValues | undefined
  readonly returnId: boolean
  readonly returnDoc: boolean
}
/**
 * Fails before reading if a parameter or the collection is invalid; afterwards every line has its own verdict. If
 * `memory` is exhausted, lines are written as they arrive instead of in batches, and a single line that is too large is
 * refused.
 */
export const importDocuments = (
  context: OperationContext,
  collection: string,
  chunks: AsyncIterable<Uint8Array>,
  parameters: QueryParameters,
  memory = UNBOUNDED
): Result<StreamAnswer> => {
  const info = resolveCollection(context, collection)
  if (info === undefined) return fail(COLLECTION_NOT_FOUND)
  const action = actionOf(parameters.action)
  if (!action.ok) return action
  const returnId = flagOf(parameters, "return_id")
  if (!returnId.ok) return returnId
  const returnDoc = flagOf(parameters, "return_doc")
  if (!returnDoc.ok) return returnDoc
  const size = batchSizeOf(parameters)
  if (!size.ok) return size
  const settings: ImportSettings = {
    action: action.value,
    dirtyValues: dirtyValuesOf(parameters.dirty_values),
    returnId: returnId.value,
    returnDoc: returnDoc.value
  }
  return ok({ status: 200, lines: importLines(context, info, chunks, settings, memory) })
}
async function* importLines(
  context: OperationContext,
  info: CollectionInfo,
  chunks: AsyncIterable<Uint8Array>,
  settings: ImportSettings,
  memory: ImportMemory
): AsyncGenerator<string> {
  const lines = new Lines()
  const batches = new Batches(context, info, settings)
  let reason: string | undefined,
    isRead = false
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => {
        reason = error instanceof Error ? error.message : String(error)
        return undefined
      })
      if (next === undefined || next.done === true) {
        isRead = true
        break
      }
      for (let at = 0; at < next.value.length; at += PIECE_BYTES)
        for (const line of lines.add(next.value.subarray(at, at + PIECE_BYTES))) {
          batches.add(line)
          if (batches.isFull) yield* batches.flush()
        }
      if (memory.reserve(batches.characters + lines.openBytes)) continue
      yield* batches.end()
      if (!(await memory.reserveOrWait(lines.openBytes))) {
        lines.drop()
        memory.reserve(0)
      }
    }
  } finally {
    await iterator.return?.()
    // The reader has disconnected. Writes in progress are still awaited, so that closing the engine does not cut them
    // off.
    if (!isRead) await batches.settled()
  }
  // A stream that was aborted may have left half a line.
  if (reason === undefined) for (const line of lines.end()) batches.add(line)
  yield* batches.end()
  // The status has already been sent: complete lines have their verdicts, and the last result line explains why there
  // are no more.
  if (reason !== undefined)
    yield `${batches.isFirst ? "" : "\n"}${failureLine(400, `The body could not be read: ${reason}`, undefined, undefined)}`
}

/**
 * Sends lines to the engine, one batch at a time. The next batch starts once every line of the last has been accepted,
 * while that is still being written to disk: waiting for the disk, and for the next lines, cost the writer's thread a
 * fifth of an import.
 */
class Batches {
  readonly #context: OperationContext
  readonly #info: CollectionInfo
  readonly #settings: ImportSettings
  #lines: Array<Line> = []
  #lineCharacters = 0
  /** The batch whose result is not known yet. */
  #written: { readonly text: Promise<string>; readonly characters: number } | undefined
  /** Whether no result line has been returned yet. */
  isFirst = true
  constructor(context: OperationContext, info: CollectionInfo, settings: ImportSettings) {
    this.#context = context
    this.#info = info
    this.#settings = settings
  }
  /** Characters held in memory for both batches. */
  get characters(): number {
    return this.#lineCharacters + (this.#written?.characters ?? 0)
  }
  get isFull(): boolean {
    return this.#lines.length >= BATCH_LINES_MAX || this.#lineCharacters >= BATCH_CHARACTERS_MAX
  }
  add(line: Line): void {
    this.#lines.push(line)
    if (typeof line === "string") this.#lineCharacters += line.length
  }
  /** Starts writing what was added; returns the results of the previous batch. */
  async *flush(): AsyncGenerator<string> {
    const lines = this.#lines,
      characters = this.#lineCharacters
    this.#lines = []
    this.#lineCharacters = 0
    const before = this.#written
    let text!: Promise<string>
    const taken = new Promise<void>((resolve) => {
      text = writeBatch(this.#context, this.#info, lines, this.#settings, resolve)
    })
    // A failure is reported to whoever awaits it next.
    text.catch(() => {})
    this.#written = { text, characters }
    if (before !== undefined) yield this.#next(await before.text)
    await Promise.race([taken, text])
  }
  /** Writes what was added; returns all remaining results. */
  async *end(): AsyncGenerator<string> {
    if (this.#lines.length > 0) yield* this.flush()
    const last = this.#written
    this.#written = undefined
    if (last !== undefined) yield this.#next(await last.text)
  }
  /** Resolves when the work in progress has ended, successfully or not. */
  async settled(): Promise<void> {
    await this.#written?.text.catch(() => {})
  }
  #next(text: string): string {
    const out = this.isFirst ? text : `\n${text}`
    this.isFirst = false
    return out
  }
}
const writeBatch = async (
  context: OperationContext,
  info: CollectionInfo,
  batch: ReadonlyArray<Line>,
  settings: ImportSettings,
  taken: () => void
): Promise<string> => {
  const operations: Array<WriteOperation> = []
  for (const document of batch)
    if (typeof document === "string")
      operations.push({ kind: "put", action: settings.action, dirtyValues: settings.dirtyValues, document })
  const written = await context.engine.write(context.namespace, info.schema.name, operations, {
    returnDocuments: settings.returnDoc,
    keeps: context.keeps,
    taken
  })
  let at = 0
  return batch
    .map((line) => {
      if (typeof line !== "string") return failureLine(line, refusalOf[line], undefined, undefined)
      const verdict: WriteVerdict = written.ok ? written.value[at++]! : { result: written }
      return resultLine(verdict, line, settings)
    })
    .join("\n")
}
const resultLine = (verdict: WriteVerdict, line: string, settings: ImportSettings): string => {
  const { result } = verdict
  if (!result.ok)
    return failureLine(
      statusOf(result.error),
      result.error.message,
      settings.returnDoc ? line : undefined,
      settings.returnId ? (verdict.id ?? idOf(line)) : undefined
    )
  if (!settings.returnId && !settings.returnDoc) return '{"success":true}'
  const document = settings.returnDoc ? `"document":${stringifyJson(result.value.document ?? {})},` : ""
  return `{${document}${settings.returnId ? `"id":${JSON.stringify(result.value.id)},` : ""}"success":true}`
}
const failureLine = (code: number, error: string, document: string | undefined, id: string | undefined): string =>
  JSON.stringify({
    code,
    ...(document === undefined ? {} : { document }),
    error: boundedText(error),
    ...(id === undefined ? {} : { id }),
    success: false
  })
/** The id of a refused line, if it has a readable one. */
const idOf = (line: string): string | undefined => {
  const parsed = parseBounded(line)
  return typeof parsed === "object" && isObject(parsed.value) && typeof parsed.value.id === "string"
    ? parsed.value.id
    : undefined
}

/** Documents in insertion order, one per line, without a newline at the end. */
export const exportDocuments = (
  context: OperationContext,
  collection: string,
  parameters: QueryParameters,
  restrictions: Restrictions = UNRESTRICTED
): Result<StreamAnswer> => {
  const info = resolveCollection(context, collection)
  if (info === undefined) return fail(COLLECTION_NOT_FOUND)
  const size = batchSizeOf(parameters)
  if (!size.ok) return size
  const reach = new Reach(context, restrictions)
  const filter = filterOf(context, info, parameters, reach)
  if (!filter.ok) return filter
  const selection = selectionOf(context, info, parameters, filter.value, reach)
  if (!selection.ok) return selection
  return ok({
    status: 200,
    lines: exportLines(context, {
      collection: info.schema.name,
      filter: filter.value,
      selection: selection.value,
      limit: EXPORT_PAGE
    })
  })
}
async function* exportLines(
  context: OperationContext,
  request: Parameters<OperationContext["engine"]["scan"]>[1]
): AsyncGenerator<string> {
  let first = true
  for (let after: number | undefined = undefined, done = false; !done;) {
    const page = await context.engine.scan(context.namespace, { ...request, after })
    // The status has already been sent, so the stream is aborted to show the reader that the answer is incomplete.
    if (!page.ok) throw new Error(page.error.message)
    if (page.value.documents.length > 0) {
      yield (first ? "" : "\n") + page.value.documents.map(stringifyJson).join("\n")
      first = false
    }
    after = page.value.next
    done = after === undefined
  }
}
