/**
 * CSV and its variants with tabs or semicolons. The first row names the columns; each further row is a document whose
 * fields are texts, which the collection converts for its numeric and boolean fields. A column whose name ends in
 * `[]` is a list with `|` between its values. Pure.
 */
import { parse } from "csv-parse"
import { textOf } from "./charset.ts"
import { FeedBroken, type FeedItem, type FeedReader, fault, RECORD_BYTES_MAX, upsert } from "./reader.ts"

const SNIFFED_CHARACTERS = 65_536
const COLUMNS_MAX = 1_000
const DELIMITERS = [",", ";", "\t", "|"]

/** The delimiter that splits the first rows into equally many fields, and into the most. Ignores quoted texts. */
export const delimiterOf = (text: string): string => {
  const lines = text
    .replaceAll(/"(?:[^"]|"")*"/g, "")
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(0, 20)
  const pieces = (delimiter: string) => lines.map((line) => line.split(delimiter).length)
  const scoreOf = (delimiter: string): number => {
    const [first = 1, ...rest] = pieces(delimiter)
    return first === 1 ? 0 : first * (1 + rest.filter((n) => n === first).length)
  }
  return DELIMITERS.reduce((best, each) => (scoreOf(each) > scoreOf(best) ? each : best))
}
/** Reads the first characters separately, then all of the text. */
const sniffed = async (texts: AsyncGenerator<string>) => {
  const first: Array<string> = []
  let size = 0
  while (size < SNIFFED_CHARACTERS) {
    const { done, value } = await texts.next()
    if (done === true) break
    first.push(value)
    size += value.length
  }
  const all = async function* () {
    yield* first
    yield* texts
  }
  return { start: first.join("").slice(0, SNIFFED_CHARACTERS), all }
}

interface Column {
  readonly name: string
  readonly isList: boolean
}
const columnsOf = (header: ReadonlyArray<string>): ReadonlyArray<Column> => {
  const columns = header.map((text) => {
    const name = text.trim()
    return name.endsWith("[]") ? { name: name.slice(0, -2), isList: true } : { name, isList: false }
  })
  if (columns.length > COLUMNS_MAX) throw new FeedBroken(`The first row names more than ${COLUMNS_MAX} columns.`)
  const names = columns.map(({ name }) => name)
  const twice = names.find((name, i) => name !== "" && names.indexOf(name) !== i)
  if (twice !== undefined) throw new FeedBroken(`The first row names the column \`${twice}\` twice.`)
  return columns
}

class Rows {
  #columns: ReadonlyArray<Column> | undefined
  readonly #idField: string
  constructor(idField = "id") {
    this.#idField = idField
  }
  item(record: ReadonlyArray<string>, lineNumber: number): FeedItem | undefined {
    if (this.#columns === undefined) {
      this.#columns = columnsOf(record)
      if (!this.#columns.some(({ name }) => name === this.#idField))
        throw new FeedBroken(`The first row names no column \`${this.#idField}\`.`)
      return undefined
    }
    const line = `line ${lineNumber}`
    if (record.length !== this.#columns.length)
      return fault(line, `The row has ${record.length} fields where the first row names ${this.#columns.length}`)
    const document = new Map<string, unknown>()
    let bytes = 0
    for (const [i, { isList, name }] of this.#columns.entries()) {
      const text = record[i]!
      bytes += text.length
      if (text.trim() === "" || name === "") continue
      document.set(name, isList ? text.split("|").map((part) => part.trim()) : text)
    }
    if (bytes > RECORD_BYTES_MAX) return fault(line, "The row is larger than a megabyte")
    const id = document.get(this.#idField)
    if (typeof id !== "string") return fault(line, `The row has no \`${this.#idField}\``)
    document.set("id", id.trim())
    return upsert(Object.fromEntries(document), bytes)
  }
  get hasHeader(): boolean {
    return this.#columns !== undefined
  }
}

/**
 * Collects rows and faults, in feed order. The parser passes both to callbacks; its own output stays empty.
 */
const parsing = (rows: Rows, delimiter: string) => {
  let items: Array<FeedItem> = []
  let failure: unknown
  const parser = parse({
    bom: true,
    delimiter,
    max_record_size: RECORD_BYTES_MAX,
    on_record: (record: ReadonlyArray<string>, { lines }) => {
      const item = rows.item(record, lines)
      if (item !== undefined) items.push(item)
      return null
    },
    on_skip: (error) => {
      items.push(fault(`line ${error?.lines ?? "?"}`, `The row cannot be read: ${error?.message ?? "it is no CSV"}`))
      return undefined
    },
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_error: true
  })
  parser.on("error", (error) => {
    failure = error
  })
  parser.resume()
  const taken = () => {
    if (failure !== undefined)
      throw failure instanceof FeedBroken
        ? failure
        : new FeedBroken(`The feed is no CSV: ${(failure as Error).message}`)
    const now = items
    items = []
    return now
  }
  return {
    write: async (text: string) => {
      // The callback also runs after a failure.
      await new Promise<void>((settle) => parser.write(text, () => settle()))
      return taken()
    },
    end: async () => {
      await new Promise<void>((settle) => parser.once("close", settle).end())
      return taken()
    },
    close: () => parser.destroy()
  }
}

export const readCsv: FeedReader = async function* (pieces, { idField }) {
  const { all, start } = await sniffed(textOf(pieces))
  const rows = new Rows(idField)
  const parser = parsing(rows, delimiterOf(start))
  try {
    for await (const text of all()) yield await parser.write(text)
    yield await parser.end()
  } finally {
    parser.close()
  }
  if (!rows.hasHeader) throw new FeedBroken("The feed has no first row that names its columns.")
}
