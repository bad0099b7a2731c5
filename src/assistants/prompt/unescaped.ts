/**
 * Decodes a text while it is written, as HTML and Markdown renderers do first: entities become their characters if
 * these form markup or addresses, and invisible characters are removed. The state is the beginning of a possible
 * entity.
 */
const SIGN = /[&\u00ad\u200b\u2060\ufeff\udb40]/g
const OPEN = /^&[#\w]{0,32}$/
const ENTITY = /^&(?:#(\d{1,7})(?!\d)|#x([\da-f]{1,6})(?![\da-f])|([a-z]{2,31})(?=;));?/i
/** Only entities that form markup and addresses; the others stay unchanged. */
const NAMED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: "&",
    apos: "'",
    bsol: "\\",
    colon: ":",
    commat: "@",
    excl: "!",
    gt: ">",
    lbrack: "[",
    lpar: "(",
    lsqb: "[",
    lt: "<",
    newline: "\n",
    period: ".",
    quot: '"',
    rbrack: "]",
    rpar: ")",
    rsqb: "]",
    sol: "/",
    tab: "\t"
  })
)

interface Read {
  /** Number of characters taken from the text. */ readonly taken: number
  /** Decoded text, which is read again in its place. */ readonly again?: string
  readonly text?: string
}
/** Undefined if the entity is incomplete. */
const readSign = (text: string, isEnd: boolean): Read | undefined => {
  if (text[0] === "\udb40") {
    // The first half of the surrogate pair of an invisible twin of ASCII.
    if (text.length === 1 && !isEnd) return undefined
    return { taken: text.length === 1 ? 1 : 2 }
  }
  if (text[0] !== "&") return { taken: 1 }
  if (!isEnd && OPEN.test(text)) return undefined
  const [whole = "", decimal, hexadecimal, name] = ENTITY.exec(text) ?? []
  const code = decimal !== undefined ? Number(decimal) : hexadecimal !== undefined ? parseInt(hexadecimal, 16) : NaN
  const ascii = code >= 32 && code < 127 ? String.fromCharCode(code) : undefined
  const again = name === undefined ? ascii : NAMED.get(name.toLowerCase())
  return again === undefined ? { taken: 1, text: "&" } : { taken: whole.length, again }
}
/** The length of the longest entity. */
const LOOKED_AT = 64

export class Unescaped {
  #held = ""
  /** Returns everything that is certain; with `isEnd`, everything. */
  read(delta: string, isEnd: boolean): string {
    let left = this.#held + delta
    let out = ""
    for (;;) {
      SIGN.lastIndex = 0
      const sign = SIGN.exec(left)?.index ?? left.length
      out += left.slice(0, sign)
      left = left.slice(sign)
      const read = left === "" ? undefined : readSign(left.slice(0, LOOKED_AT), isEnd)
      if (read === undefined) break
      out += read.text ?? ""
      left = (read.again ?? "") + left.slice(read.taken)
    }
    this.#held = left
    return out
  }
}
