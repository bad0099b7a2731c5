/**
 * Restricts the links in an answer to addresses from its sources. A manipulated model writes what it knows into an
 * address, and a renderer fetches an image without a click. The text passes three steps while it is written: its
 * entities (`unescaped.ts`), its markup (`markup.ts`), then the rest word by word (`addresses.ts`). Pure apart from
 * the state of one answer.
 */
import { addressesIn, placeOf, withoutAddresses } from "./addresses.ts"
import { Markup } from "./markup.ts"
import { Unescaped } from "./unescaped.ts"

/** Every http(s), mailto and www address in the texts, verbatim. */
export const allowedAddresses = (texts: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(texts.flatMap(addressesIn).filter((address) => placeOf(address) !== undefined))

/** Longer texts are not words; an address in one is never allowed. */
const WORD_MAX = 4_000
/** Ends a word that cannot be an address so far, in scripts that have no spaces. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\u3001-\u3003\uff01-\uff5e]/u
const ADDRESS_SIGN = /[:/.@]/

/** One per answer. The result does not depend on how the text was split into deltas. */
export class LinkFilter {
  readonly #places: ReadonlySet<string>
  readonly #unescaped = new Unescaped()
  readonly #markup: Markup
  #word = ""

  constructor(allowed: ReadonlySet<string>) {
    this.#places = new Set([...allowed].map(placeOf).filter((place) => place !== undefined))
    this.#markup = new Markup({
      isAllowed: (address) => this.#isAllowed(address),
      wordsOf: (markdown) => {
        const inner = new LinkFilter(allowed)
        return inner.push(markdown) + inner.end()
      }
    })
  }

  /** Returns the text that is certain: a word that might become an address is held back. */
  push(delta: string): string {
    return this.#read(delta, false)
  }
  /** Returns the rest, at the end. */
  end(): string {
    return this.#read("", true) + this.#wordEnd()
  }

  #isAllowed(address: string): boolean {
    const place = placeOf(address)
    return place !== undefined && this.#places.has(place)
  }

  #read(delta: string, isEnd: boolean): string {
    let out = ""
    for (const { isKept, text } of this.#markup.read(this.#unescaped.read(delta, isEnd), isEnd)) {
      if (!isKept) out += this.#words(text)
      else {
        const before = this.#wordEnd()
        // A renderer may include adjacent characters in an address, so a space is inserted.
        out += before + (ADDRESS_SIGN.test(before) && !/[\s(]$/.test(before) ? " " : "") + text
      }
    }
    return out
  }
  #words(text: string): string {
    let out = ""
    for (const character of text) {
      this.#word += character
      if (/\s/.test(character)) out += this.#wordEnd()
      else if (UNSPACED.test(character) && !ADDRESS_SIGN.test(this.#word)) out += this.#wordEnd()
      else if (this.#word.length > WORD_MAX) out += `${this.#wordEnd()} `
    }
    return out
  }
  #wordEnd(): string {
    const word = this.#word
    this.#word = ""
    return ADDRESS_SIGN.test(word) ? withoutAddresses(word, (address) => this.#isAllowed(address)) : word
  }
}
