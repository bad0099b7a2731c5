/**
 * Runs Moonshine: one pass of the encoder over the audio, then the decoder token by token, each time the most likely,
 * until it ends by itself or has produced as much as anybody can say in the time. Given the openings of documents, it
 * decodes twice more: for a few other readings, then for the words of the openings that sound most like one.
 */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Readings, SpokenWord } from "../transcriber.ts"
import { Beams, type Hypothesis, type ScoredToken } from "./beams.ts"
import { openGraphs, type Remembered } from "./graphs.ts"
import { shapeOf, type TranscriberSize } from "./layout.ts"
import { Lexicon } from "./lexicon.ts"
import { type Openings, wordsOfOpenings } from "./openings.ts"
import { PieceIndex } from "./pieces.ts"
import { wordsOfTokens } from "./words.ts"

/** Per second of speech; more means that the model repeats itself. */
const TOKENS_PER_SECOND = 6.5
const TOKENS_LEAST = 6
const RATE = 16_000
/** Longer speech, or more words, is running text: only short speech is decoded again. */
const AGAIN_S_MAX = 6,
  AGAIN_WORDS_MAX = 12
const GREEDY = { beams: 1, tokens: 1, perLetter: 0 },
  FREE = { beams: 4, tokens: 12, perLetter: 0 },
  LISTENING = { beams: 6, tokens: 20, perLetter: 0.5 }
const NEAR_MAX = 30

interface Tokenizer {
  readonly vocabById: ReadonlyArray<string>
}
/** Everything recognized in one span of speech; a thread's answer. */
export interface Heard {
  /** The likeliest reading, regardless of the openings. */ readonly words: ReadonlyArray<SpokenWord>
  readonly readings?: Readings
}
interface Moonshine {
  /** Samples of one channel at 16,000 a second. */
  readonly listen: (samples: Float32Array, openings: Openings | undefined) => Promise<Heard>
}
const textOf = (words: ReadonlyArray<SpokenWord>): string => words.map(({ text }) => text).join(" ")

export const openMoonshine = async (size: TranscriberSize, folder: string, runtime: string): Promise<Moonshine> => {
  const graphs = await openGraphs(size, folder, runtime)
  const { default: tokenizer } = (await import(pathToFileURL(join(folder, shapeOf(size).tokens)).href)) as {
    readonly default: Tokenizer
  }
  const pieces = new PieceIndex(tokenizer.vocabById)
  const nothing = new Lexicon([])
  const greedy = new Beams(pieces, nothing, GREEDY),
    free = new Beams(pieces, nothing, FREE)
  const wordsOf = (tokens: ReadonlyArray<ScoredToken>) =>
    wordsOfTokens(tokens.map(({ score, token }) => ({ piece: tokenizer.vocabById[token] ?? "", score })))
  const readingOf = ({ heard, tokens }: Hypothesis) => ({ words: wordsOf(tokens), heard })

  const again = async (
    openings: Openings,
    sound: Remembered["sound"],
    first: Hypothesis | undefined,
    steps: number
  ) => {
    const others = await free.search(graphs, sound, steps)
    const heard = [...(first === undefined ? [] : [first]), ...others]
    const near = openings.near(
      heard.map(({ tokens }) => textOf(wordsOf(tokens))),
      NEAR_MAX
    )
    const listening = new Beams(pieces, new Lexicon(wordsOfOpenings(near)), LISTENING)
    const found = near.length === 0 ? [] : await listening.search(graphs, sound, steps)
    return { candidates: [...heard, ...found].map(readingOf).filter(({ words }) => words.length > 0), near }
  }
  return {
    listen: async (samples, openings) => {
      const seconds = samples.length / RATE
      const sound = await graphs.encode(samples)
      const steps = Math.max(TOKENS_LEAST, Math.ceil(seconds * TOKENS_PER_SECOND))
      const [first] = await greedy.search(graphs, sound, steps)
      const words = first === undefined ? [] : wordsOf(first.tokens)
      const isShort = seconds <= AGAIN_S_MAX && words.length <= AGAIN_WORDS_MAX
      if (openings === undefined || !isShort) return { words }
      return { words, readings: await again(openings, sound, first, steps) }
    }
  }
}
