/**
 * What may have been said, the likeliest first: several continuations at once, told apart by their words alone, not by
 * marks and capitals. A letter that goes on with a word of the lexicon is rewarded, and the rewards of a word are given
 * back where it breaks off as no word at all, so that nothing stays of a beginning (contextual biasing by a trie of
 * words). Pieces that go on with such a word are looked at however unlikely the model takes them to be. What the model
 * itself makes of a sentence is told apart from the rewards.
 */
import { BEGIN, END, type Graphs, type Remembered } from "./graphs.ts"
import type { Beginning, Lexicon } from "./lexicon.ts"
import type { PieceIndex } from "./pieces.ts"

interface Beaming {
  /** Continuations at once. */ readonly beams: number
  /** Of each, the likeliest tokens that are looked at. */ readonly tokens: number
  /** For a letter of a word of the lexicon, in natural logarithms. */ readonly perLetter: number
}
export interface SaidToken {
  readonly token: number
  readonly score: number
}
export interface Hypothesis {
  readonly said: ReadonlyArray<SaidToken>
  /** How likely the model takes it to be, as a logarithm. */ readonly heard: number
  /** With the rewards. */ readonly worth: number
}
interface Beam extends Hypothesis {
  /** How the word that is being said begins; undefined where no word of the lexicon does. */
  readonly at: Beginning | undefined
  /** Rewards of that word, until it is whole. */ readonly pending: number
  /** What was said without marks and capitals. */ readonly letters: string
}
interface Grown {
  readonly beam: Beam
  /** Of the continuation before it. */ readonly row: number
}
type Logarithm = readonly [token: number, logarithm: number]

/** The likeliest of one continuation, the most likely first, and the logarithm that all are measured by. */
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

/** One word, or what begins like one, while its pieces are put behind each other. */
class Saying {
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
  /** The word is over: its rewards stay, or it is none and they go. */
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
  /** Tokens that a word of the lexicon begins with. */ readonly #beginning: ReadonlyArray<number>

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
    const saying = new Saying(beam, this.#lexicon, this.#options.perLetter)
    if (isBeginning) saying.close()
    for (const letter of letters) {
      if (isLetter(letter)) saying.add(letter)
      else saying.close()
    }
    return {
      said: [...beam.said, { token, score: Math.exp(logarithm) }],
      heard: beam.heard + logarithm,
      worth: saying.worth + logarithm,
      at: saying.at,
      pending: saying.pending,
      letters: saying.letters
    }
  }
  #ended(beam: Beam, logarithm: number): Hypothesis {
    const saying = new Saying(beam, this.#lexicon, this.#options.perLetter)
    saying.close()
    return { said: beam.said, heard: beam.heard + logarithm, worth: saying.worth + logarithm }
  }
  /** The best of them, no two of the same words. */
  #kept(grown: ReadonlyArray<Grown>): ReadonlyArray<Grown> {
    const kept = new Map<string, Grown>()
    for (const each of grown.toSorted((a, b) => b.beam.worth - a.beam.worth)) {
      const words = each.beam.letters.trim()
      if (!kept.has(words)) kept.set(words, each)
      if (kept.size === this.#options.beams) break
    }
    return [...kept.values()]
  }
  /** What ended, the best first, at most as many as there are beams; at most `steps` runs of the decoder. */
  async search(graphs: Graphs, sound: Remembered["sound"], steps: number): Promise<ReadonlyArray<Hypothesis>> {
    const ended = new Map<string, Hypothesis>()
    const best = () => [...ended.values()].toSorted((a, b) => b.worth - a.worth).slice(0, this.#options.beams)
    let beams: ReadonlyArray<Beam> = [{ said: [], heard: 0, worth: 0, at: this.#lexicon.all, pending: 0, letters: "" }]
    let remembered: Remembered | undefined
    let from: ReadonlyArray<number> = [0]
    for (let step = 0; step < steps && beams.length > 0; step++) {
      const last = beams.map(({ said }) => said.at(-1)?.token ?? BEGIN)
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
    // Who never came to an end says what it has.
    return ended.size === 0 ? beams.map((beam) => this.#ended(beam, 0)) : best()
  }
}
