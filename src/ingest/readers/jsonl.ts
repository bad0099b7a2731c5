/** JSON Lines: one document per line, or the messages of an extractor (`messages.ts`). Pure. */
import { parseBounded } from "@dowser/engine-sdk/documents"
import {
  FeedBroken,
  type FeedItem,
  fault,
  type FeedReader,
  type ReaderOptions,
  RECORD_BYTES_MAX,
  upsert
} from "./reader.ts"
import { type Line, linesOf } from "./lines.ts"
import { isFields, type Message, messageOf } from "./messages.ts"

const DEPTH_MAX = 64
const STREAMS_MAX = 1_000
/** The longest stored state of an extractor. */
const STATE_CHARACTERS_MAX = 100_000

const refusals: ReadonlyMap<string, string> = new Map([
  ["invalid", "The line is not JSON"],
  ["too deep", `The line nests deeper than ${DEPTH_MAX} levels`],
  ["too many", "The line has too many objects and lists"]
])
const idIn = (document: Readonly<Record<string, unknown>>, key: string): string | undefined =>
  Object.hasOwn(document, key) ? textOfId(document[key]) : undefined
const textOfId = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number" && Number.isFinite(value)
      ? String(value)
      : undefined

class Messages {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })
  readonly #idField: string | undefined
  /** By stream: the key fields that form a record's id. */ readonly #keys = new Map<string, ReadonlyArray<string>>()
  constructor({ idField }: ReaderOptions) {
    this.#idField = idField
  }
  #idOf(document: Readonly<Record<string, unknown>>, stream: string | undefined): string | undefined {
    if (this.#idField !== undefined) return idIn(document, this.#idField)
    const own = idIn(document, "id")
    if (own !== undefined) return own
    const keys = stream === undefined ? undefined : this.#keys.get(stream)
    if (keys === undefined || keys.length === 0) return undefined
    const parts = keys.map((key) => idIn(document, key))
    return parts.includes(undefined) ? undefined : parts.join(":")
  }
  #itemOf(message: Message, name: string, bytes: number): FeedItem | undefined {
    switch (message.kind) {
      case "nothing":
        return undefined
      case "failure":
        throw new FeedBroken(`The extractor says at ${name} that it failed: ${message.message}`)
      case "schema":
        if (this.#keys.size < STREAMS_MAX) this.#keys.set(message.stream, message.keys)
        return undefined
      case "state": {
        const text = JSON.stringify(message.state) ?? ""
        return text.length > STATE_CHARACTERS_MAX
          ? undefined
          : { kind: "state", state: { extractor_state: message.state } }
      }
      case "deleted":
      case "document": {
        const id = this.#idOf(message.document, message.stream)
        if (id === undefined) return fault(name, `It has no ${this.#idField ?? "id"}, which is a text or a number`)
        return message.kind === "deleted"
          ? { kind: "record", change: { op: "delete", id }, bytes }
          : upsert(message.document.id === id ? message.document : { ...message.document, id }, bytes)
      }
    }
  }
  item({ bytes, number }: Line): FeedItem | undefined {
    const name = `line ${number}`
    if (bytes === undefined) return fault(name, `The line is longer than ${RECORD_BYTES_MAX} bytes`)
    let text: string
    try {
      text = this.#decoder.decode(bytes)
    } catch {
      return fault(name, "The line is not UTF-8")
    }
    if (text.trim() === "") return undefined
    const parsed = parseBounded(text, DEPTH_MAX)
    if (typeof parsed !== "object") return fault(name, refusals.get(parsed) ?? parsed)
    return isFields(parsed.value)
      ? this.#itemOf(messageOf(parsed.value), name, bytes.length)
      : fault(name, "The line is no object")
  }
}

export const readJsonl: FeedReader = async function* (pieces, options) {
  const messages = new Messages(options)
  for await (const lines of linesOf(pieces, RECORD_BYTES_MAX))
    yield lines.flatMap((line) => {
      const item = messages.item(line)
      return item === undefined ? [] : [item]
    })
}
