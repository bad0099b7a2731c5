/**
 * Removes markers such as `[1]` and `[1, 3]` from a model's text if they have no source, even when a marker is split
 * between deltas. Pure.
 */

/** Longest marker, such as `[12, 13]`; a longer text is not a marker. */
const MARKER_CHARACTERS_MAX = 24
const MARKER = /\[\s*(\d{1,3}(?:\s*,\s*\d{1,3})*)\s*\]/g
const OPEN = /^\[[\s\d,]*$/

export class MarkerFilter {
  readonly #sources: number
  #held = ""
  /** Number of removed markers without a source. */ removed = 0
  constructor(sources: number) {
    this.#sources = sources
  }
  /** Returns the text that may be shown so far. */
  push(delta: string): string {
    const text = this.#held + delta
    const at = text.lastIndexOf("[")
    const isOpen = at >= 0 && text.length - at <= MARKER_CHARACTERS_MAX && OPEN.test(text.slice(at))
    this.#held = isOpen ? text.slice(at) : ""
    return this.#kept(isOpen ? text.slice(0, at) : text)
  }
  end(): string {
    const text = this.#held
    this.#held = ""
    return this.#kept(text)
  }
  #kept(text: string): string {
    return text.replace(MARKER, (_, numbers: string) => {
      const all = numbers.split(",").map(Number)
      const own = all.filter((number) => number >= 1 && number <= this.#sources)
      this.removed += all.length - own.length
      return own.map((number) => `[${number}]`).join("")
    })
  }
}

/** The sources that a text cites, from 0, in order, each once. */
export const markedIn = (text: string): ReadonlyArray<number> => [
  ...new Set([...text.matchAll(MARKER)].flatMap((match) => match[1]!.split(",").map((number) => Number(number) - 1)))
]
export const withoutMarkers = (text: string): string => text.replace(MARKER, "")
