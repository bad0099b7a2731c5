/** Looks up the tokens of a vocabulary by their letters. Pure. */

interface Piece {
  /** Lower case, without the leading blank. */ readonly letters: string
  readonly isBeginning: boolean
}
/** SentencePiece's prefix of a piece that begins a word. */
const SPACE = "▁"
const MARK = /^<.*>$/

const pieceOf = (text: string): Piece =>
  MARK.test(text)
    ? { letters: "", isBeginning: false }
    : { letters: text.replaceAll(SPACE, "").toLowerCase(), isBeginning: text.startsWith(SPACE) }

export class PieceIndex {
  readonly #pieces: ReadonlyArray<Piece>
  readonly #beginning = new Map<string, Array<number>>()
  readonly #following = new Map<string, Array<number>>()

  constructor(vocabulary: ReadonlyArray<string>) {
    this.#pieces = vocabulary.map(pieceOf)
    for (const [token, { isBeginning, letters }] of this.#pieces.entries()) {
      const own = isBeginning ? this.#beginning : this.#following
      const same = own.get(letters)
      if (letters === "") continue
      if (same === undefined) own.set(letters, [token])
      else same.push(token)
    }
  }
  of(token: number): Piece {
    return this.#pieces[token] ?? { letters: "", isBeginning: false }
  }
  /** Tokens with which one of the texts begins, ignoring case. */
  goingOn(texts: Iterable<string>, isBeginning: boolean): ReadonlyArray<number> {
    const own = isBeginning ? this.#beginning : this.#following
    const found = new Set<number>()
    for (const text of texts)
      for (let length = 1; length <= text.length; length++)
        for (const token of own.get(text.slice(0, length)) ?? []) found.add(token)
    return [...found]
  }
}
