/**
 * Beam search for what may have been said, the likeliest first. Continuations are distinguished by their words alone,
 * not by punctuation and capitals. A letter that continues a word of the lexicon is rewarded, and the rewards are
 * withdrawn if the word breaks off before it is complete, so that a mere beginning keeps nothing (contextual biasing by
 * a trie of words). Pieces that continue such a word are considered however unlikely they are for the model. The
 * model's own score of a sentence is kept apart from the rewards.
 */
import { BEGIN, END, type Graphs, type Remembered } from "./graphs.ts"
import type { Beginning, Lexicon } from "./lexicon.ts"
import type { PieceIndex } from "./pieces.ts"

interface Beaming {
  /** Number of continuations kept. */ readonly beams: number
  /** Number of the likeliest tokens considered for each. */ readonly tokens: number
  /** Reward for a letter of a lexicon word, as a natural logarithm. */ readonly perLetter: number
}
export interface ScoredToken {
  readonly token: number
  readonly score: number
}
export interface Hypothesis {
  readonly tokens: ReadonlyArray<ScoredToken>
  /** Log probability according to the model. */ readonly heard: number
  /** Score including the rewards. */ readonly worth: number
}
interface Beam extends Hypothesis {
  /** The beginning of the current word; undefined if no word of the lexicon begins so. */
  readonly at: Beginning | undefined
  /** Rewards of the current word, until it is complete. */ readonly pending: number
  /** The text without punctuation and capitals. */ readonly letters: string
}
interface Grown {
  readonly beam: Beam
  /** Row of the continuation that it extends. */ readonly row: number
}
type Logarithm = readonly [token: number, logarithm: number]

/** The likeliest tokens of one continuation, in descending order, and the logarithm of the normalizer. */
const likeliest = (logits: Float32Array, count: number) => {
  let most = -Infinity
  for (const value of logits) if (value > most) most = value
  let sum = 0
  for (const value of logits) sum += Math.exp(value - most)
  const whole = most + Math.log(sum)
  const found: Array<Logarithm> = []
  let least = -Infinity
  for (let token = 0; token < logits.length; token++) {
    const value = logits[token]!
    if (value <= least) continue
    let at = found.length
    while (at > 0 && found[at - 1]![1] < value - whole) at--
    found.splice(at, 0, [token, value - whole])
    if (found.length > count) found.pop()
    if (found.length === count) least = found.at(-1)![1] + whole
  }
  return { found, whole }
}
const isLetter = (text: string): boolean => /[\p{L}\p{M}\p{N}]/u.test(text)

/** One word, or the beginning of one, while pieces are appended to it. */
class Spelling {
  readonly #lexicon: Lexicon
  readonly #perLetter: number
  at: Beginning | undefined
  pending: number
  worth: number
  letters: string

  constructor({ at, letters, pending, worth }: Beam, lexicon: Lexicon, perLetter: number) {
    this.#lexicon = lexicon
    this.#perLetter = perLetter
    this.at = at
    this.pending = pending
    this.worth = worth
    this.letters = letters
  }
  /** The word has ended: it keeps its rewards if it is in the lexicon, and loses them if not. */
  close(): void {
    if (this.at === undefined || !this.#lexicon.isWord(this.at)) this.worth -= this.pending
    this.at = this.#lexicon.all
    this.pending = 0
    if (!this.letters.endsWith(" ")) this.letters += " "
  }
  add(letter: string): void {
    this.letters += letter
    for (let i = 0; i < letter.length && this.at !== undefined; i++)
      this.at = this.#lexicon.step(this.at, letter.charCodeAt(i))
    const reward = this.at === undefined ? -this.pending : this.#perLetter
    this.worth += reward
    this.pending += reward
  }
}

export class Beams {
  readonly #pieces: PieceIndex
  readonly #lexicon: Lexicon
  readonly #options: Beaming
  /** Tokens that begin a word of the lexicon. */ readonly #beginning: ReadonlyArray<number>

  constructor(pieces: PieceIndex, lexicon: Lexicon, options: Beaming) {
    this.#pieces = pieces
    this.#lexicon = lexicon
    this.#options = options
    this.#beginning = pieces.goingOn(lexicon.rests(lexicon.all), true)
  }
  #looked({ at }: Beam, logits: Float32Array): Iterable<Logarithm> {
    const { found, whole } = likeliest(logits, this.#options.tokens)
    const all = new Map(found)
    const going = at === undefined || at.depth === 0 ? [] : this.#pieces.goingOn(this.#lexicon.rests(at), false)
    for (const tokens of [this.#beginning, going])
      for (const token of tokens) if (!all.has(token)) all.set(token, logits[token]! - whole)
    return all
  }
  #grown(beam: Beam, token: number, logarithm: number): Beam {
    const { isBeginning, letters } = this.#pieces.of(token)
    const spelling = new Spelling(beam, this.#lexicon, this.#options.perLetter)
    if (isBeginning) spelling.close()
    for (const letter of letters) {
      if (isLetter(letter)) spelling.add(letter)
      else spelling.close()
    }
    return {
      tokens: [...beam.tokens, { token, score: Math.exp(logarithm) }],
      heard: beam.heard + logarithm,
      worth: spelling.worth + logarithm,
      at: spelling.at,
      pending: spelling.pending,
      letters: spelling.letters
    }
  }
  #ended(beam: Beam, logarithm: number): Hypothesis {
    const spelling = new Spelling(beam, this.#lexicon, this.#options.perLetter)
    spelling.close()
    return { tokens: beam.tokens, heard: beam.heard + logarithm, worth: spelling.worth + logarithm }
  }
  /** The best continuations, no two with the same words. */
  #kept(grown: ReadonlyArray<Grown>): ReadonlyArray<Grown> {
    const kept = new Map<string, Grown>()
    for (const each of grown.toSorted((a, b) => b.beam.worth - a.beam.worth)) {
      const words = each.beam.letters.trim()
      if (!kept.has(words)) kept.set(words, each)
      if (kept.size === this.#options.beams) break
    }
    return [...kept.values()]
  }
  /** The completed hypotheses, best first, at most as many as beams; at most `steps` runs of the decoder. */
  async search(graphs: Graphs, sound: Remembered["sound"], steps: number): Promise<ReadonlyArray<Hypothesis>> {
    const ended = new Map<string, Hypothesis>()
    const best = () => [...ended.values()].toSorted((a, b) => b.worth - a.worth).slice(0, this.#options.beams)
    let beams: ReadonlyArray<Beam> = [
      { tokens: [], heard: 0, worth: 0, at: this.#lexicon.all, pending: 0, letters: "" }
    ]
    let remembered: Remembered | undefined
    let from: ReadonlyArray<number> = [0]
    for (let step = 0; step < steps && beams.length > 0; step++) {
      const last = beams.map(({ tokens }) => tokens.at(-1)?.token ?? BEGIN)
      remembered = remembered === undefined ? await graphs.begin(sound) : await graphs.next(remembered, from, last)
      const size = remembered.logits.length / beams.length
      const grown: Array<Grown> = []
      for (const [row, beam] of beams.entries())
        for (const [token, logarithm] of this.#looked(beam, remembered.logits.subarray(row * size, (row + 1) * size))) {
          if (token !== END) grown.push({ beam: this.#grown(beam, token, logarithm), row })
          else {
            const whole = this.#ended(beam, logarithm)
            const words = beam.letters.trim()
            if (whole.worth > (ended.get(words)?.worth ?? -Infinity)) ended.set(words, whole)
          }
        }
      const kept = this.#kept(grown)
      beams = kept.map(({ beam }) => beam)
      from = kept.map(({ row }) => row)
      const worst = best()[this.#options.beams - 1]
      if (worst !== undefined && beams.every(({ worth }) => worth < worst.worth)) break
    }
    // Without a completed hypothesis, returns the incomplete ones.
    return ended.size === 0 ? beams.map((beam) => this.#ended(beam, 0)) : best()
  }
}
