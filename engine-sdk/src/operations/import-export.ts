/**
 * Documents as JSON Lines in and out (engine-contract 3.4, 3.6), in memory that does not grow with the stream: lines go
 * to the engine in batches, and one result line per input line comes back in order.
 */
import { isObject, stringifyJson } from "../documents/json.ts"
import { fail, ok, statusOf, type Result } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import type { WriteVerdict } from "../engine.ts"
import type { CollectionInfo, DirtyValues, WriteAction } from "../schema.ts"
import { actionOf, batchSizeOf, dirtyValuesOf, filterOf, flagOf, selectionOf } from "./documents.ts"
import { COLLECTION_NOT_FOUND, resolveCollection, type Caller, type OperationContext, type QueryParameters, type StreamAnswer } from "./operation.ts"

const BATCH_LINES_MAX = 1_024
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024
const LINE_BYTES_MAX = 32 * 1024 * 1024
const EXPORT_PAGE = 500
const NEWLINE = 10

/** Lines of a byte stream without their newline, as many at a time as a chunk completes; blank lines are skipped. A line over the limit is answered as undefined and passed over. Invalid UTF-8 becomes U+FFFD. Where the stream breaks off, `broken` is told and the lines end. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>, broken: (reason: string) => void): AsyncGenerator<ReadonlyArray<string | undefined>> {
  const decoder = new TextDecoder()
  /** The line that is not complete yet, and its bytes. */
  let open = "", openBytes = 0
  let isTooLong = false
  try {
    for await (const chunk of chunks) {
      const text = decoder.decode(chunk, { stream: true })
      const lines: Array<string | undefined> = []
      let start = 0
      for (let end = text.indexOf("\n"); end >= 0; start = end + 1, end = text.indexOf("\n", start)) {
        const line = open === "" ? text.slice(start, end) : open + text.slice(start, end)
        if (isTooLong) lines.push(undefined)
        else if (!isBlank(line)) lines.push(line)
        open = ""
        isTooLong = false
      }
      const newline = chunk.lastIndexOf(NEWLINE)
      openBytes = newline < 0 ? openBytes + chunk.length : chunk.length - newline - 1
      if (!isTooLong) open += text.slice(start)
      if (openBytes > LINE_BYTES_MAX) { open = ""; isTooLong = true }
      if (lines.length > 0) yield lines
    }
  } catch (error) {
    // The open line may be half a line.
    return broken(error instanceof Error ? error.message : String(error))
  }
  const last = open + decoder.decode()
  if (isTooLong) yield [undefined]
  else if (!isBlank(last)) yield [last]
}
const isBlank = (line: string): boolean => line === "" || (line.charCodeAt(0) <= 32 && line.trim() === "")

interface ImportSettings { readonly action: WriteAction; readonly dirtyValues: DirtyValues | undefined; readonly returnId: boolean; readonly returnDoc: boolean }
/** Fails before reading where a parameter or the collection is wrong; afterwards every line has its own verdict. */
export const importDocuments = (context: OperationContext, collection: string, chunks: AsyncIterable<Uint8Array>, parameters: QueryParameters): Result<StreamAnswer> => {
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
  const settings: ImportSettings = { action: action.value, dirtyValues: dirtyValuesOf(parameters.dirty_values), returnId: returnId.value, returnDoc: returnDoc.value }
  return ok({ status: 200, lines: importLines(context, info, chunks, settings) })
}
async function* importLines(context: OperationContext, info: CollectionInfo, chunks: AsyncIterable<Uint8Array>, settings: ImportSettings): AsyncGenerator<string> {
  let batch: Array<string | undefined> = []
  let characters = 0
  let first = true
  const flush = async (): Promise<string> => {
    const text = await writeBatch(context, info, batch, settings)
    const out = first ? text : `\n${text}`
    first = false
    batch = []
    characters = 0
    return out
  }
  let reason: string | undefined
  for await (const lines of linesOf(chunks, (told) => { reason = told })) for (const line of lines) {
    batch.push(line)
    characters += line?.length ?? 0
    if (batch.length >= BATCH_LINES_MAX || characters >= BATCH_CHARACTERS_MAX) yield await flush()
  }
  if (batch.length > 0) yield await flush()
  // The status is sent by then: what came whole has its verdicts, and the last line says why there are no more.
  if (reason !== undefined) yield `${first ? "" : "\n"}${failureLine(400, `The body could not be read: ${reason}`, undefined, undefined)}`
}
const writeBatch = async (context: OperationContext, info: CollectionInfo, batch: ReadonlyArray<string | undefined>, settings: ImportSettings): Promise<string> => {
  const lines = batch.filter((line) => line !== undefined)
  const operations = lines.map((document): WriteOperation => ({ kind: "put", action: settings.action, dirtyValues: settings.dirtyValues, document }))
  const written = await context.engine.write(context.namespace, info.schema.name, operations, { returnDocuments: settings.returnDoc })
  let at = 0
  return batch.map((line) => {
    if (line === undefined) return failureLine(400, `Bad JSON: a line may have at most ${LINE_BYTES_MAX} bytes.`, undefined, undefined)
    const verdict: WriteVerdict = written.ok ? written.value[at++] : { result: written }
    return resultLine(verdict, line, settings)
  }).join("\n")
}
const resultLine = (verdict: WriteVerdict, line: string, settings: ImportSettings): string => {
  const { result } = verdict
  if (!result.ok) return failureLine(statusOf(result.error), result.error.message, settings.returnDoc ? line : undefined, settings.returnId ? verdict.id ?? idOf(line) : undefined)
  if (!settings.returnId && !settings.returnDoc) return "{\"success\":true}"
  const document = settings.returnDoc ? `"document":${stringifyJson(result.value.document ?? {})},` : ""
  return `{${document}${settings.returnId ? `"id":${JSON.stringify(result.value.id)},` : ""}"success":true}`
}
const failureLine = (code: number, error: string, document: string | undefined, id: string | undefined): string =>
  JSON.stringify({ code, ...(document === undefined ? {} : { document }), error, ...(id === undefined ? {} : { id }), success: false })
/** The id of a refused line, where it has one that can be read. */
const idOf = (line: string): string | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) && typeof value.id === "string" ? value.id : undefined
  } catch { return undefined }
}

/** Documents in insertion order, one per line, without a newline at the end. */
export const exportDocuments = (context: OperationContext, collection: string, parameters: QueryParameters, caller: Caller = {}): Result<StreamAnswer> => {
  const info = resolveCollection(context, collection)
  if (info === undefined) return fail(COLLECTION_NOT_FOUND)
  const size = batchSizeOf(parameters)
  if (!size.ok) return size
  const filter = filterOf(context, info, parameters, caller)
  if (!filter.ok) return filter
  const selection = selectionOf(context, info, parameters, filter.value, caller)
  if (!selection.ok) return selection
  return ok({ status: 200, lines: exportLines(context, { collection: info.schema.name, filter: filter.value, selection: selection.value, limit: EXPORT_PAGE }) })
}
async function* exportLines(context: OperationContext, request: Parameters<OperationContext["engine"]["scan"]>[1]): AsyncGenerator<string> {
  let first = true
  for (let after: number | undefined = undefined, done = false; !done;) {
    const page = await context.engine.scan(context.namespace, { ...request, after })
    // The status is sent by now; the stream breaks off so that the reader sees an incomplete answer.
    if (!page.ok) throw new Error(page.error.message)
    if (page.value.documents.length > 0) {
      yield (first ? "" : "\n") + page.value.documents.map(stringifyJson).join("\n")
      first = false
    }
    after = page.value.next
    done = after === undefined
  }
}
