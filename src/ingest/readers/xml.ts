/**
 * XML as events with limits: entities of a document type are never expanded, at most one text is held, and malformed
 * input is reported with its line and skipped. Pure.
 */
import { SaxesParser } from "saxes"
import { FeedBroken, type FeedItem } from "./reader.ts"
import { textOf } from "./charset.ts"

const DEPTH_MAX = 32
const ATTRIBUTES_MAX = 100
/** Characters since the last complete tag, text or comment. */
const HELD_CHARACTERS_MAX = 4_000_000
/** Characters per step, so that the limit is checked often. */
const PIECE_CHARACTERS = 65_536
/** HTML entities that shops also write in XML. */
const NAMED: Readonly<Record<string, string>> = {
  nbsp: "\u00a0",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  laquo: "«",
  raquo: "»",
  deg: "°",
  times: "×",
  euro: "€",
  copy: "©",
  reg: "®",
  trade: "™"
}

export interface XmlVisitor {
  /** `depth` is 1 for the root. */
  readonly open: (name: string, attributes: Readonly<Record<string, string>>, depth: number, line: number) => void
  readonly text: (text: string) => void
  readonly close: (name: string, depth: number) => void
  /** The XML is malformed here. */ readonly mistake: (message: string, line: number) => void
  /** Items since the last call. */ readonly taken: () => ReadonlyArray<FeedItem>
}

class Parsing {
  readonly #parser = new SaxesParser({ xmlns: false, position: true })
  readonly #visitor: XmlVisitor
  #depth = 0
  #attributes = 0
  #held = 0
  constructor(visitor: XmlVisitor) {
    this.#visitor = visitor
    Object.assign(this.#parser.ENTITIES, NAMED)
    this.#listen(this.#parser)
  }
  readonly #listen = (parser: SaxesParser) => {
    const visitor = this.#visitor
    const ended = () => {
      this.#held = 0
    }
    parser.on("opentagstart", () => {
      this.#attributes = 0
    })
    parser.on("attribute", () => {
      if (++this.#attributes > ATTRIBUTES_MAX)
        throw new FeedBroken(`Line ${parser.line}: an element has more than ${ATTRIBUTES_MAX} attributes.`)
    })
    parser.on("opentag", ({ attributes, name }) => {
      ended()
      if (++this.#depth > DEPTH_MAX)
        throw new FeedBroken(`Line ${parser.line}: elements nest deeper than ${DEPTH_MAX} levels.`)
      visitor.open(name, attributes, this.#depth, parser.line)
    })
    parser.on("closetag", ({ name }) => {
      ended()
      visitor.close(name, this.#depth--)
    })
    const text = (value: string) => {
      ended()
      visitor.text(value)
    }
    parser.on("text", text)
    parser.on("cdata", text)
    parser.on("comment", ended)
    parser.on("processinginstruction", ended)
    parser.on("doctype", ended)
    parser.on("error", ({ message }) => visitor.mistake(message.replace(/^\d+:\d+: /, ""), parser.line))
  }
  write(text: string): void {
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      const piece = text.slice(at, at + PIECE_CHARACTERS)
      this.#parser.write(piece)
      this.#held += piece.length
      if (this.#held > HELD_CHARACTERS_MAX)
        throw new FeedBroken(
          `Line ${this.#parser.line}: a text or tag is longer than ${HELD_CHARACTERS_MAX} characters.`
        )
    }
  }
  get isOpen(): boolean {
    return this.#depth > 0
  }
  close(): void {
    this.#parser.close()
  }
}

export async function* visited(
  pieces: AsyncIterable<Uint8Array>,
  visitor: XmlVisitor
): AsyncGenerator<ReadonlyArray<FeedItem>> {
  const parsing = new Parsing(visitor)
  for await (const text of textOf(pieces)) {
    parsing.write(text)
    const items = visitor.taken()
    if (items.length > 0) yield items
  }
  // A truncated feed is not a complete pass.
  if (parsing.isOpen) throw new FeedBroken("The feed ends in the middle.")
  parsing.close()
  yield visitor.taken()
}
