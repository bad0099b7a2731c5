/**
 * Parses Markdown and HTML in an answer while it is written: links, images, reference definitions, autolinks and tags,
 * wherever a delta splits them. A link to a forbidden address becomes its words; tags and comments are removed. The
 * state is the text that may still become one of these, at most `HELD_MAX` characters, and the last character returned.
 */
interface Piece {
  readonly text: string
  /** A link that is allowed and stays unchanged. */ readonly isKept: boolean
}
interface Step {
  /** Number of characters taken from the held text. */ readonly taken: number
  readonly piece?: Piece
}
interface Parts {
  readonly isAllowed: (address: string) => boolean
  /** The words of a complete Markdown text. */ readonly wordsOf: (markdown: string) => string
}

const HELD_MAX = 1_000
const SPECIAL = /[<[\]!]/g
const AUTOLINK = /^(?:[a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]{1,64}@[\w.-]{1,255})$/i
const DEFINED = /^[ \t]*(?:\n[ \t]*)?(<[^<>\n]*>|[^\s<]\S*)(?=\s)/
/** What may precede a definition on its line, even if its addresses are left out. */
const LINE_START = /^[\s>*+\-\d.)]*$/
const ADDRESS_LIKE = /\S*[:/.@]\S*/g
const LINE_MAX = 400
const SPACED = /\s$/

type Found = number | "none" | "wait"
/** Where the construct opened at `from` closes, by counting; at most `HELD_MAX` long, without an empty line. */
const closing = (text: string, from: number, open: string, close: string, isEnd: boolean): Found => {
  let depth = 0
  const to = Math.min(text.length, from + HELD_MAX)
  for (let at = from; at < to; at++) {
    const character = text[at]
    if (character === open) depth++
    else if (character === close && --depth === 0) return at
    else if (character === "\n" && text[at - 1] === "\n") return "none"
  }
  return isEnd || to < text.length || to === from + HELD_MAX ? "none" : "wait"
}
const plain = (text: string): Piece => ({ text, isKept: false })
const bareOf = (destination: string): string => {
  const trimmed = destination.trim()
  if (!trimmed.startsWith("<")) return trimmed.split(/\s/, 1)[0]!
  const end = trimmed.indexOf(">")
  return end < 0 ? trimmed : trimmed.slice(1, end)
}

export class Markup {
  readonly #parts: Parts
  #held = ""
  #last = ""
  /** The part of the line returned so far; a longer line may be anything. */ #line = ""

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Returns everything that is certain; with `isEnd`, everything. */
  read(delta: string, isEnd: boolean): ReadonlyArray<Piece> {
    this.#held += delta
    const pieces: Piece[] = []
    const give = (piece: Piece) => {
      if (piece.text === "") return
      pieces.push(piece)
      this.#note(piece.text)
    }
    let at = 0
    while (at < this.#held.length) {
      SPECIAL.lastIndex = at
      const special = SPECIAL.exec(this.#held)?.index ?? this.#held.length
      give(plain(this.#held.slice(at, special)))
      at = special
      if (at === this.#held.length) break
      const step = this.#step(this.#held.slice(at, at + 2 * HELD_MAX + 2), isEnd)
      if (step === undefined) break
      if (step.piece !== undefined) give(step.piece)
      at += step.taken
    }
    this.#held = this.#held.slice(at)
    return pieces
  }

  #note(text: string): void {
    this.#last = text.at(-1)!
    const line = text.lastIndexOf("\n")
    this.#line = line < 0 ? this.#line + text : text.slice(line + 1)
    if (this.#line.length > LINE_MAX) this.#line = ""
  }
  get #isLineStart(): boolean {
    return LINE_START.test(this.#line.replace(ADDRESS_LIKE, ""))
  }
  /** Whether the first bracket opened on the line may close here. */
  get #isLabel(): boolean {
    const [before = "", inside] = this.#line.split("[", 2)
    return inside !== undefined && LINE_START.test(before.replace(ADDRESS_LIKE, ""))
  }

  /** Undefined if the construct is incomplete. */
  #step(text: string, isEnd: boolean): Step | undefined {
    switch (text[0]) {
      case "<":
        return this.#angle(text, isEnd)
      case "[":
        return this.#bracket(text, "", isEnd)
      case "]":
        return this.#orphan(text, isEnd)
      case "!":
        if (text.length === 1 && !isEnd) return undefined
        return text[1] === "[" ? this.#bracket(text.slice(1), "!", isEnd) : { taken: 1, piece: plain("!") }
      default:
        return { taken: 1 }
    }
  }

  /** A space, if nothing else separates the text before the removed part from the text after it. */
  #gap(): Piece {
    return plain(this.#last === "" || SPACED.test(this.#last) ? "" : " ")
  }

  #angle(text: string, isEnd: boolean): Step | undefined {
    if (text.length === 1) return isEnd ? { taken: 1, piece: plain("<") } : undefined
    if (!/[a-z/!?]/i.test(text[1]!)) return { taken: 1, piece: plain(/[<[\]]/.test(text[1]!) ? "< " : "<") }
    const close = text.startsWith("<!--") ? "-->" : ">"
    const end = text.slice(0, HELD_MAX).indexOf(close)
    if (end < 0) return isEnd || text.length >= HELD_MAX ? { taken: 1, piece: plain("< ") } : undefined
    const inner = text.slice(1, end)
    const isLink = AUTOLINK.test(inner) && this.#parts.isAllowed(inner)
    return { taken: end + close.length, piece: isLink ? { text: `<${inner}>`, isKept: true } : this.#gap() }
  }

  #bracket(text: string, image: "" | "!", isEnd: boolean): Step | undefined {
    const asText: Step = { taken: image.length + 1, piece: plain(`${image}[`) }
    const end = closing(text, 0, "[", "]", isEnd)
    if (end === "wait" || (end !== "none" && text.length === end + 1 && !isEnd)) return undefined
    if (end === "none") return asText
    const inner = text.slice(1, end)
    if (text[end + 1] === ":" && image === "" && this.#isLineStart && !/[[\]<>]/.test(inner))
      return this.#definition(text, inner, isEnd)
    if (text[end + 1] !== "(") return asText
    const close = closing(text, end + 1, "(", ")", isEnd)
    if (close === "wait") return undefined
    if (close === "none") return asText
    const taken = image.length + close + 1
    const words = this.#parts.wordsOf(inner)
    const address = bareOf(text.slice(end + 2, close))
    if (this.#parts.isAllowed(address))
      return { taken, piece: { text: `${image}[${words}](${address})`, isKept: true } }
    if (words === "") return { taken, piece: this.#gap() }
    // A trailing symbol could turn the following text into markup.
    return { taken, piece: { text: /[\p{L}\p{N}]$/u.test(words) ? words : `${words} `, isKept: words.includes("](") } }
  }

  #definition(text: string, label: string, isEnd: boolean): Step | undefined {
    const colon = label.length + 2
    const rest = text.slice(colon + 1, colon + 1 + HELD_MAX)
    const found = DEFINED.exec(isEnd ? `${rest}\n` : rest)
    if (
      found === null &&
      !isEnd &&
      rest.length < HELD_MAX &&
      /^[ \t]*(?:\n[ \t]*)?\S*$|^[ \t]*(?:\n[ \t]*)?<[^<>\n]*$/.test(rest)
    )
      return undefined
    const address = bareOf(found?.[1] ?? "")
    if (found === null || !this.#parts.isAllowed(address)) return { taken: colon + 1, piece: plain(`[${label}] :`) }
    return { taken: colon + 1 + found[0].length, piece: { text: `[${label}]: ${address}`, isKept: true } }
  }

  /** Handles `](…)` without an opening bracket in the held text, because a renderer may find one before it. */
  #orphan(text: string, isEnd: boolean): Step | undefined {
    if (text.length === 1 && !isEnd) return undefined
    if (text[1] === ":" && this.#isLabel) return { taken: 1, piece: plain("] ") }
    if (text[1] !== "(") return { taken: 1, piece: plain("]") }
    const close = closing(text, 1, "(", ")", isEnd)
    if (close === "wait") return undefined
    if (close === "none") return { taken: 1, piece: plain("] ") }
    const address = bareOf(text.slice(2, close))
    return {
      taken: close + 1,
      piece: this.#parts.isAllowed(address) ? { text: `](${address})`, isKept: true } : plain("] ")
    }
  }
}
