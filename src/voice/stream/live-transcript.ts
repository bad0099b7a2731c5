/** The words of a live stream so far, from a transcriber or from the client's own speech recognizer. Pure. */
import type { LiveHeard, SpokenWord } from "../../ports/transcriber/transcriber.ts"
import { plainQuery } from "../correction.ts"
import type { Pieces } from "../understanding.ts"

/** The client's recognizer sends no scores, so all of its words count as certain. */
const wordsIn = (text: string): ReadonlyArray<SpokenWord> =>
  text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => ({ text: word, score: 1 }))
/** The most words of one stream. A longer text is not a search. */
const WORDS_MAX = 1_000
const BY_CLIENT = "client"

export class LiveTranscript {
  #heard: LiveHeard | undefined
  #settled: ReadonlyArray<SpokenWord> = []
  #passing: ReadonlyArray<SpokenWord> = []
  #isSent = false
  /** Used when the transcriber reports no language. */ readonly #language: string

  constructor(language: string | undefined) {
    this.#language = language ?? "und"
  }
  /** Once a client has sent words, they replace those of the transcriber: it runs a recognizer of its own. */
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
  /** Whether there are alternative readings, with which the same words may lead to another query. */
  get hasReadings(): boolean {
    return !this.#isSent && this.#heard?.readings !== undefined
  }
  /** Whether the words so far are final. */
  get isSettled(): boolean {
    return this.#isSent ? this.#passing.length === 0 : this.#heard?.settled === this.#heard?.words.length
  }
  get text(): string {
    return this.words.map(({ text }) => text).join(" ")
  }
  /** The words as a query. Equal queries need only one search. */
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
