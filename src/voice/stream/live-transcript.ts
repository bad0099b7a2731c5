/** What was said so far: words from a transcriber, or from the client's own speech recognizer. Pure. */
import type { LiveHeard, SpokenWord } from "../../ports/transcriber/transcriber.ts"
import { plainQuery } from "../correction.ts"
import type { Pieces } from "../understanding.ts"

/** Words of the client's own recognizer are taken as certain. */
const wordsIn = (text: string): ReadonlyArray<SpokenWord> =>
  text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => ({ text: word, score: 1 }))
/** Per stream: nobody's query is longer. */
const WORDS_MAX = 1_000
const BY_CLIENT = "client"

export class LiveTranscript {
  #heard: LiveHeard | undefined
  #settled: ReadonlyArray<SpokenWord> = []
  #passing: ReadonlyArray<SpokenWord> = []
  #isSent = false
  /** If the transcriber detects none. */ readonly #language: string

  constructor(language: string | undefined) {
    this.#language = language ?? "und"
  }
  /** Words that the client sends take precedence over transcribed ones: it has a recognizer of its own. */
  get isSent(): boolean {
    return this.#isSent
  }
  hear(heard: LiveHeard): void {
    this.#heard = heard
  }
  send(text: string, isFinal: boolean): void {
    this.#isSent = true
    this.#passing = wordsIn(text)
    if (!isFinal) return
    this.#settled = [...this.#settled, ...this.#passing].slice(0, WORDS_MAX)
    this.#passing = []
  }
  get words(): ReadonlyArray<SpokenWord> {
    const words = this.#isSent ? [...this.#settled, ...this.#passing] : (this.#heard?.words ?? [])
    return words.slice(0, WORDS_MAX)
  }
  get pieces(): Pieces {
    return [{ words: this.words, readings: this.#isSent ? undefined : this.#heard?.readings }]
  }
  /** With further readings, the same words may be understood differently. */
  get hasReadings(): boolean {
    return !this.#isSent && this.#heard?.readings !== undefined
  }
  /** None of them will change. */
  get isSettled(): boolean {
    return this.#isSent ? this.#passing.length === 0 : this.#heard?.settled === this.#heard?.words.length
  }
  get text(): string {
    return this.words.map(({ text }) => text).join(" ")
  }
  /** The query: equal ones need only one search. */
  get tokens(): string {
    return plainQuery(this.words)
  }
  get language(): string {
    return this.#isSent ? this.#language : (this.#heard?.language ?? this.#language)
  }
  get model(): string {
    return this.#isSent ? BY_CLIENT : (this.#heard?.model ?? "")
  }
}
