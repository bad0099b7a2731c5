/**
 * Scans collections page by page, in insertion order. An export of the server is read as far as pages are requested and
 * is kept open in between, so that deletions do not shift later pages; the position of a page identifies its export. An
 * export that is not continued for some minutes is closed, as is the oldest if there are too many.
 */
import type { Dictionaries } from "../analysis/mod.ts"
import { isObject, parseBounded, parseJson } from "../documents/json.ts"
import { isSelected, select } from "../documents/select.ts"
import type { Namespace, ScanPage, ScanRequest } from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"
import type { Selection } from "../plan.ts"
import type { Filter } from "../filter.ts"
import type { Document } from "../schema.ts"
import type { Entry } from "./directory.ts"
import { type NameOf, placeFilter, placeSelection } from "./place-plan.ts"
import { filterText, type SchemaContext } from "./print-filters.ts"
import { shownText } from "./print-selection.ts"
import { Unprintable } from "./refusals.ts"
import { contextOf, type Parts } from "./search.ts"

const OPEN_MAX = 32
const IDLE_MS = 300_000
/** Maximum characters of one document. */
const LINE_CHARACTERS_MAX = 64 * 1_048_576
/** Maximum characters of filter and fields, because the URL of a request is limited. */
const QUERY_CHARACTERS_MAX = 4_000
/** A page larger than this ends early. */
const PAGE_CHARACTERS_MAX = 32 * 1_048_576

/** Lines of a response body, read on demand. */
class Lines {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  /** Text that has been read but not consumed. */ #text = ""
  #isOver = false
  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader()
  }
  /** Returns undefined after the last line. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n")
      if (end >= 0) {
        const line = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 1)
        if (line !== "") return line
        continue
      }
      if (this.#isOver) {
        const last = this.#text
        this.#text = ""
        return last === "" ? undefined : last
      }
      if (this.#text.length > LINE_CHARACTERS_MAX) throw new Error("a document is longer than one may be")
      const { done, value } = await this.#reader.read()
      this.#isOver = done
      this.#text += done ? this.#decoder.decode() : this.#decoder.decode(value, { stream: true })
    }
  }
  close(): void {
    // A stream that cannot be cancelled has already ended.
    this.#reader.cancel().catch(() => {})
  }
}
interface OpenScan {
  readonly lines: Lines
  readonly owner: string
  readonly selection: Selection | undefined
  /** A line read in advance, which shows whether there is a next page. */ ahead: string | undefined
  timer: ReturnType<typeof setTimeout>
}

const broken: EngineError = {
  kind: "Unavailable",
  message: "Going through the collection was interrupted; begin again."
}

export class Scans {
  readonly #parts: Parts
  readonly #open = new Map<number, OpenScan>()
  #last = 0
  constructor(parts: Parts) {
    this.#parts = parts
  }

  async page(entry: Entry, request: ScanRequest, dictionaries: Dictionaries): Promise<Result<ScanPage>> {
    const owner = JSON.stringify([entry.namespace, request.collection])
    if (request.after !== undefined) {
      const scan = this.#open.get(request.after)
      if (scan === undefined || scan.owner !== owner) return fail(broken)
      this.#open.delete(request.after)
      clearTimeout(scan.timer)
      return this.#read(scan, request.limit)
    }
    const begun = await this.#begin(entry, request, dictionaries, owner)
    return begun.ok ? this.#read(begun.value, request.limit) : begun
  }
  close(): void {
    for (const number of [...this.#open.keys()]) this.#drop(number)
  }
  #drop(number: number): void {
    const scan = this.#open.get(number)
    if (scan === undefined) return
    this.#open.delete(number)
    clearTimeout(scan.timer)
    scan.lines.close()
  }

  async #begin(
    entry: Entry,
    { collection, filter, selection }: ScanRequest,
    dictionaries: Dictionaries,
    owner: string
  ): Promise<Result<OpenScan>> {
    const { client, gate, names } = this.#parts
    const { namespace } = entry
    const query = exportQuery(this.#parts, namespace, { collection, filter, selection }, dictionaries)
    if (!query.ok) return query
    const body = await gate.through(namespace, 10_000, () =>
      client.stream(`/collections/${entry.serverName}/documents/export${query.value}`)
    )
    if (!body.ok) return fail({ ...body.error, message: names.translate(namespace, body.error.message) })
    const lines = new Lines(body.value)
    const timer = setTimeout(() => {}, 0)
    return ok({ lines, owner, selection, ahead: undefined, timer })
  }
  async #read(scan: OpenScan, limit: number): Promise<Result<ScanPage>> {
    const documents: Document[] = []
    const ids: string[] = []
    let characters = 0
    try {
      let line = scan.ahead ?? (await scan.lines.next())
      while (line !== undefined && documents.length < limit && characters < PAGE_CHARACTERS_MAX) {
        characters += line.length
        const document = documentOf(line)
        if (document === undefined) throw new Error("a line is no document")
        ids.push(String(document.id))
        documents.push(shownPart(document, scan.selection))
        line = await scan.lines.next()
      }
      if (line === undefined) {
        scan.lines.close()
        return ok({ documents, ids, next: undefined })
      }
      scan.ahead = line
      return ok({ documents, ids, next: this.#keep(scan) })
    } catch {
      scan.lines.close()
      return fail(broken)
    }
  }
  #keep(scan: OpenScan): number {
    if (this.#open.size >= OPEN_MAX) this.#drop(this.#open.keys().next().value!)
    const number = ++this.#last
    scan.timer = setTimeout(() => this.#drop(number), IDLE_MS)
    ;(scan.timer as { unref?: () => void }).unref?.()
    this.#open.set(number, scan)
    return number
  }
}

const documentOf = (line: string): Document | undefined => {
  const parsed = parseBounded(line, undefined, parseJson)
  return typeof parsed === "object" && isObject(parsed.value) && typeof parsed.value.id === "string"
    ? parsed.value
    : undefined
}
/** The id was requested in any case. */
export const shownPart = (document: Document, selection: Selection | undefined): Document => {
  if (selection === undefined) return document
  if (selection.joins.length === 0) return select(document, selection)
  // Joined documents are stored under names that no field list contains.
  const { id: _id, ...rest } = document
  return select(isSelected(selection, "id") ? document : rest, { include: [], exclude: selection.exclude })
}

/** The id is always requested; excluded fields are removed here, except collections that the filter joins. */
export const shownFields = (
  selection: Selection = { include: [], exclude: [], joins: [] },
  filter: Filter | undefined,
  nameOf: NameOf,
  context: SchemaContext
): Readonly<Record<string, string>> => {
  const { include } = selection
  const asked = include.length === 0 ? include : ["id", ...include]
  return { ...shownText({ ...placeSelection(selection, nameOf), include: asked, exclude: [] }, filter, context) }
}
/** Filter and fields of an export or of single documents, as a query string. */
export const exportQuery = (
  parts: Parts,
  namespace: Namespace,
  { collection, filter, selection }: Pick<ScanRequest, "collection" | "filter" | "selection">,
  dictionaries: Dictionaries
): Result<string> => {
  const context = contextOf(parts, namespace, collection, dictionaries)
  if (context === undefined) return ok("")
  const nameOf = (name: string): string => parts.names.of(namespace, name)
  const query = new URLSearchParams()
  const placed = filter === undefined ? undefined : placeFilter(filter, nameOf)
  try {
    if (placed !== undefined) query.set("filter_by", filterText(placed, context))
    for (const [name, text] of Object.entries(shownFields(selection, placed, nameOf, context))) query.set(name, text)
  } catch (error) {
    if (error instanceof Unprintable) return fail(error.error)
    throw error
  }
  const text = query.toString()
  if (text.length > QUERY_CHARACTERS_MAX)
    return fail({
      kind: "Invalid",
      message: `The filter is longer than the ${QUERY_CHARACTERS_MAX} characters that the search engine's server takes.`,
      parameter: "filter_by"
    })
  return ok(text === "" ? "" : `?${text}`)
}
