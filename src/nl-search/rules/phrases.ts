/** Phrases of several words, looked up at a position of a request; a phrase may contain quantities. Pure. */
import { folded, type Token } from "./tokens.ts"

interface Node<A> {
  readonly next: Map<string, Node<A>>
  quantity: Node<A> | undefined
  action: A | undefined
}
const node = <A>(): Node<A> => ({ next: new Map(), quantity: undefined, action: undefined })
interface PhraseMatch<A, Q> {
  readonly end: number
  readonly action: A
  readonly quantities: ReadonlyArray<Q>
}
interface Quantified {
  readonly end: number
}

export const phrasesIn = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("|")
    .map((phrase) =>
      phrase
        .trim()
        .split(/\s+/)
        .filter((word) => word !== "")
        .map(folded)
    )
    .filter((words) => words.length > 0)

export class Phrases<A> {
  readonly #root = node<A>()

  /** Earlier additions are kept. */
  add(words: ReadonlyArray<string>, action: A): this {
    let at = this.#root
    for (const word of words) {
      if (word === "#") at = at.quantity ??= node<A>()
      else {
        const next = at.next.get(word) ?? node<A>()
        at.next.set(word, next)
        at = next
      }
    }
    at.action ??= action
    return this
  }
  /** Every phrase that begins here, the longest first. Cost: bounded by the words of the longest phrase. */
  at<Q extends Quantified>(
    tokens: ReadonlyArray<Token>,
    start: number,
    quantityAt: (at: number) => Q | undefined = () => undefined
  ): ReadonlyArray<PhraseMatch<A, Q>> {
    const found: Array<PhraseMatch<A, Q>> = []
    const walk = (from: Node<A>, at: number, quantities: ReadonlyArray<Q>): void => {
      if (from.action !== undefined && at > start) found.push({ end: at, action: from.action, quantities })
      const token = tokens[at]
      if (token === undefined || token.isKept === true) return
      const next = from.next.get(token.text)
      if (next !== undefined) walk(next, at + 1, quantities)
      const quantity = from.quantity === undefined ? undefined : quantityAt(at)
      if (quantity !== undefined) walk(from.quantity!, quantity.end, [...quantities, quantity])
    }
    walk(this.#root, start, [])
    return found.length < 2 ? found : found.sort((a, b) => b.end - a.end)
  }
}
