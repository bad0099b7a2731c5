/**
 * A search for words by a vocabulary. The first request fetches what is most likely found, together with what would
 * disprove that guess; the next ones ask what is still unknown. Four requests at most, besides those that read words.
 */
import { Allowance, Cutoff, within } from "../budget/cutoff.ts"
import { ok, type Result } from "../errors.ts"
import type { TextQuery } from "../plan.ts"
import { CLAUSES_MAX } from "./capabilities.ts"
import type { ClusterClient } from "./client.ts"
import { Climb, type CountGuess, pairKey, triedKey, type Pair, type Tried } from "./climb.ts"
import { clausesOf, triedQuery } from "./compile-combinations.ts"
import { wordQuery } from "./compile-filter.ts"
import { searchedSlots } from "./compile-text.ts"
import type { Entry } from "./directory.ts"
import { KnownWords, WordAnswers, type WordQuestion } from "./known-words.ts"
import { KEY_LENGTH, storedWords } from "./placement.ts"
import type { SearchRequests } from "./search-requests.ts"
import { slotsFor } from "./slots.ts"
import { askAll, fetchFound, type SearchResponse, type Trip } from "./trips.ts"
import type { Vocabularies, WordPlace } from "./vocabulary.ts"
import type { WordTable } from "./word-table.ts"

const TRIPS_MAX = 4
/** Maximum number of times that words are read again because of concurrent writes. */
const REFRESHES_MAX = 2
/** Steps of the ladder that are requested together if the first found too little. */
const GUESSES_MAX = 40

interface Asked {
  readonly body: object
  readonly take: (response: SearchResponse) => void
}

/** undefined: there is no vocabulary, or the search would need more clauses than are allowed. */
export const findByWords = async (
  client: ClusterClient,
  vocabularies: Vocabularies,
  entry: Entry,
  text: TextQuery,
  requests: SearchRequests,
  left: () => number
): Promise<Result<Trip | undefined>> => {
  const { documents, record } = entry
  const slots = searchedSlots(requests.scope, text)
  const bestBy = slotsFor(record.slots, record.schema.default_sorting_field)?.number
  const places = slots.flatMap((field): WordPlace[] => (field === undefined ? [] : [{ slot: field.slot, bestBy }]))
  if (places.length === 0 || !vocabularies.isFor(documents)) return ok(undefined)
  if (!vocabularies.hasAll(record.placement, places, documents)) {
    const read = await vocabularies.refresh(record.placement, places, left())
    if (!read.ok) return read
  }
  for (let refreshes = 0; ; refreshes++) {
    const known = vocabularies.tables(record.placement, places)
    if (known === undefined) return ok(undefined)
    let next = 0
    const tables = slots.map((field) => (field === undefined ? undefined : known[next++]))
    const search = new WordSearch(client, vocabularies, entry, text, requests, places, tables, left)
    const found = await search.run(refreshes < REFRESHES_MAX)
    if (!found.ok) return found
    if (found.value !== "outdated") return ok(found.value)
    const read = await vocabularies.refresh(record.placement, places, left())
    if (!read.ok) return read
  }
}

class WordSearch {
  readonly #client: ClusterClient
  readonly #vocabularies: Vocabularies
  readonly #entry: Entry
  readonly #text: TextQuery
  readonly #requests: SearchRequests
  readonly #places: ReadonlyArray<WordPlace>
  readonly #tables: ReadonlyArray<WordTable | undefined>
  readonly #left: () => number
  readonly #counts = new Map<string, number>()
  readonly #neighbours = new Map<string, boolean>()
  readonly #answers = new WordAnswers()

  constructor(
    client: ClusterClient,
    vocabularies: Vocabularies,
    entry: Entry,
    text: TextQuery,
    requests: SearchRequests,
    places: ReadonlyArray<WordPlace>,
    tables: ReadonlyArray<WordTable | undefined>,
    left: () => number
  ) {
    this.#client = client
    this.#vocabularies = vocabularies
    this.#entry = entry
    this.#text = text
    this.#requests = requests
    this.#places = places
    this.#tables = tables
    this.#left = left
  }

  /** `mayBeOutdated`: returns "outdated" if something was written since the words were read. */
  async run(mayBeOutdated: boolean): Promise<Result<Trip | "outdated" | undefined>> {
    const guess = this.#climb({ isEnough: true })
    if (this.#isTooWide(guess.climb)) return ok(undefined)
    const first = await this.#fetch(guess, mayBeOutdated)
    if (!first.ok || first.value === "outdated") return first
    const found = first.value
    const key = triedKey(guess.climb.tried)
    for (let trips = 1; ; trips++) {
      const isLast = trips === TRIPS_MAX - 1
      // Combinations that would need more requests are left out.
      const next = this.#climb({ isEnough: false, most: isLast ? 0 : GUESSES_MAX })
      const { climb } = next
      if (climb.isSettled || isLast) {
        if (this.#isTooWide(climb)) return ok(undefined)
        if (triedKey(climb.tried) === key) return ok(found)
        if (this.#left() <= 0) return ok({ ...found, isCutOff: true })
        return this.#fetch(next, false)
      }
      if (this.#left() <= 0) return ok({ ...found, isCutOff: true })
      const asked = await this.#ask(this.#open(next))
      if (!asked.ok) return asked
    }
  }
  #isTooWide({ fruitful, isTooWide }: Climb): boolean {
    return isTooWide || clausesOf(this.#text, fruitful) > CLAUSES_MAX
  }
  #climb(how: CountGuess): Guess {
    const { documents, record } = this.#entry
    const words = new KnownWords(record.schema, this.#text, this.#tables, this.#requests.isRestricted, this.#answers)
    const counted = { counts: this.#counts, neighbours: this.#neighbours }
    const climb = new Climb(this.#text, words, documents, counted, how)
    within(new Cutoff(new Allowance(), this.#left()), () => climb.run())
    return { climb, words }
  }
  /** Fetches the hits for the result of a climb, together with everything it guessed. */
  async #fetch(guess: Guess, mayBeOutdated: boolean): Promise<Result<Trip | "outdated">> {
    const { placement } = this.#entry.record
    const { fruitful, tried } = guess.climb
    const own = triedKey(tried)
    const asked = this.#open(guess, own)
    const checks = mayBeOutdated ? this.#vocabularies.checks(placement, this.#places) : []
    const query = triedQuery(this.#requests.scope, this.#text, fruitful)
    const beside = [...asked.map(({ body }) => body), ...checks]
    const found = await fetchFound(this.#client, placement, this.#requests, query, this.#left(), beside)
    if (!found.ok) return found
    const answers = found.value.beside
    const checked = answers.slice(asked.length)
    if (mayBeOutdated && !this.#vocabularies.isCurrent(placement, this.#places, checked)) return ok("outdated")
    for (const [i, { take }] of asked.entries()) take(answers[i])
    this.#counts.set(own, found.value.worded)
    return found
  }
  async #ask(asked: ReadonlyArray<Asked>): Promise<Result<void>> {
    const bodies = asked.map(({ body }) => body)
    const answers = await askAll(this.#client, this.#entry.record.placement, bodies, this.#left())
    if (!answers.ok) return answers
    for (const [i, { take }] of asked.entries()) take(answers.value[i])
    return ok(undefined)
  }
  /** Requests for everything that a climb guessed, except `fetched`, which is counted anyway. */
  #open({ climb, words }: Guess, fetched?: string): Asked[] {
    return [
      ...[...climb.openCounts]
        .filter(([key, tried]) => key !== fetched && clausesOf(this.#text, tried) <= CLAUSES_MAX)
        .map(([key, tried]) => this.#count(key, tried)),
      ...[...climb.openPairs.values()].map((pair) => this.#pair(pair)),
      ...words.questions().map((question) => this.#question(question))
    ]
  }
  #count(key: string, tried: ReadonlyArray<Tried>): Asked {
    const query = triedQuery(this.#requests.scope, this.#text, tried)
    return {
      body: this.#requests.counted(query, this.#left()),
      take: ({ hits }) => void this.#counts.set(key, hits?.total?.value ?? 0)
    }
  }
  #slot(field: number): string {
    return searchedSlots(this.#requests.scope, this.#text)[field]!.slot
  }
  /** Checks for adjacent words in any document of the collection, whether or not it may match. */
  #pair(pair: Pair): Asked {
    const { placement } = this.#requests.scope
    const phrase = { match_phrase: { [this.#slot(pair.field)]: storedWords(placement, [pair.left, pair.right]) } }
    return {
      body: this.#requests.found(phrase, this.#left()),
      take: ({ hits }) => void this.#neighbours.set(pairKey(pair), (hits?.total?.value ?? 0) > 0)
    }
  }
  #question({ field, previous, words }: WordQuestion): Asked {
    const slot = this.#slot(field)
    const { placement } = this.#requests.scope
    const also = previous === undefined ? [] : [wordQuery(placement, slot, previous, false)]
    return {
      body: this.#requests.usable(slot, words, also, this.#left()),
      take: ({ aggregations }) => {
        const there = new Set((aggregations?.words?.buckets ?? []).map(({ key }) => String(key).slice(KEY_LENGTH)))
        this.#answers.put(field, previous, words, (word) => there.has(word))
      }
    }
  }
}
interface Guess {
  readonly climb: Climb
  readonly words: KnownWords
}
