/**
 * Counts what documents name, one document after the other: keys, their spellings, and their documents. Everything is
 * numbers except the texts, each stored once. What exceeds the limits is counted as left out.
 */
import { keyOf } from "./keys.ts"
import { IntList } from "../../texts/int-list.ts"
import { type DocumentRead, type EntityFields, longTexts, mentionsOf, TERM } from "./mentions.ts"
import { Phrases } from "./phrases.ts"

export const DOCUMENTS_MAX = 200_000
/** Limits of distinct texts and of their total length. */
const TEXTS_MAX = 500_000
const CHARACTERS_MAX = 40_000_000
/** Limit of entities per document, in order. */
const OF_DOCUMENT_MAX = 64
const PRICE = "price"

interface CountOptions {
  readonly fields: EntityFields
  /** Keys that are equal by the collection's synonyms, with their representative. */
  readonly sameAs: ReadonlyMap<string, string>
}

export class EntityCounts {
  readonly fields: EntityFields
  readonly #sameAs: ReadonlyMap<string, string>
  /** For `type NUL text`, the number of the text; −1 if it names nothing. */
  readonly #texts = new Map<string, number>()
  readonly #entities = new Map<string, number>()
  #characters = 0
  /** By the text's number. */ readonly written: Array<string> = []
  readonly #entityOfText = new IntList()
  readonly #textDocuments = new IntList()
  /** By the entity's number. */ readonly types: Array<string> = []
  readonly keys: Array<string> = []
  readonly #entityDocuments = new IntList()
  readonly #lastDocument = new IntList()
  /** Entities of all documents, concatenated, and where those of each document begin. */
  readonly #named = new IntList()
  readonly #starts = new IntList()
  readonly documents: Array<string> = []
  readonly prices: Array<number | undefined> = []
  readonly #phrases = new Phrases()
  /** Number of texts left out for lack of room. */ leftOut = 0

  constructor({ fields, sameAs }: CountOptions) {
    this.fields = fields
    this.#sameAs = sameAs
  }

  add(document: DocumentRead): void {
    const { id } = document
    if (typeof id !== "string" || this.documents.length >= DOCUMENTS_MAX) return
    const number = this.documents.length
    this.documents.push(id)
    const price = document[PRICE]
    this.prices.push(typeof price === "number" && Number.isFinite(price) ? price : undefined)
    this.#starts.push(this.#named.length)
    const first = this.#named.length
    const seen = new Set<number>()
    mentionsOf(document, this.fields, (type, text) => {
      if (this.#named.length - first >= OF_DOCUMENT_MAX) return
      const known = this.#textOf(type, text)
      if (known < 0 || seen.has(known)) return
      seen.add(known)
      this.#textDocuments.add(known, 1)
      this.#name(this.#entityOfText.at(known), number)
    })
    this.#phrases.add(number, longTexts(document, this.fields))
  }
  #name(entity: number, document: number): void {
    if (this.#lastDocument.at(entity) === document) return
    this.#lastDocument.add(entity, document - this.#lastDocument.at(entity))
    this.#entityDocuments.add(entity, 1)
    this.#named.push(entity)
  }
  #textOf(type: string, text: string): number {
    const name = `${type}\u0000${text}`
    const known = this.#texts.get(name)
    if (known !== undefined) return known
    if (this.#texts.size >= TEXTS_MAX || this.#characters + name.length > CHARACTERS_MAX) {
      this.leftOut++
      return -1
    }
    this.#characters += name.length
    const folded = keyOf(text)
    if (folded === undefined) {
      this.#texts.set(name, -1)
      return -1
    }
    const number = this.written.length
    this.#texts.set(name, number)
    this.written.push(text)
    this.#textDocuments.push(0)
    this.#entityOfText.push(this.#entityOf(type, this.#sameAs.get(folded) ?? folded))
    return number
  }
  #entityOf(type: string, key: string): number {
    const name = `${type}\u0000${key}`
    const known = this.#entities.get(name)
    if (known !== undefined) return known
    const number = this.types.length
    this.#entities.set(name, number)
    this.types.push(type)
    this.keys.push(key)
    this.#entityDocuments.push(0)
    this.#lastDocument.push(-1)
    return number
  }

  /** Turns strong pairs of words into terms. Call once, after all documents. Returns the entities per document. */
  finish(leastDocuments: number): NamedEntities {
    const more = new Map<number, Set<number>>()
    this.#phrases.eachStrong(leastDocuments, (document, phrase) => {
      const text = this.#textOf(TERM, phrase)
      if (text < 0) return
      const entity = this.#entityOfText.at(text)
      const set = more.get(document) ?? new Set()
      more.set(document, set)
      if (!set.has(entity)) this.#textDocuments.add(text, 1)
      set.add(entity)
    })
    const starts = new Int32Array(this.documents.length + 1)
    const named = new IntList()
    for (let document = 0; document < this.documents.length; document++) {
      starts[document] = named.length
      const end = document + 1 < this.documents.length ? this.#starts.at(document + 1) : this.#named.length
      const first = this.#starts.at(document)
      for (let at = first; at < end; at++) {
        named.push(this.#named.at(at))
        more.get(document)?.delete(this.#named.at(at))
      }
      let left = OF_DOCUMENT_MAX - (end - first)
      for (const entity of more.get(document) ?? []) {
        if (left-- <= 0) break
        named.push(entity)
        this.#entityDocuments.add(entity, 1)
      }
    }
    starts[this.documents.length] = named.length
    return { starts, named }
  }
  /** How many documents name the entity. */
  documentsOf(entity: number): number {
    return this.#entityDocuments.at(entity)
  }
  /** The spellings of each entity, those in most documents first, then by text. */
  writings(): ReadonlyArray<ReadonlyArray<string>> {
    const texts: Array<Array<number>> = this.types.map(() => [])
    for (let text = 0; text < this.written.length; text++)
      if (this.#textDocuments.at(text) > 0) texts[this.#entityOfText.at(text)]!.push(text)
    return texts.map((own) =>
      own
        .sort(
          (a, b) =>
            this.#textDocuments.at(b) - this.#textDocuments.at(a) || (this.written[a]! < this.written[b]! ? -1 : 1)
        )
        .map((text) => this.written[text]!)
    )
  }
}
/** Entities of document `d`: `named` from `starts[d]` to `starts[d + 1]`. */
export interface NamedEntities {
  readonly starts: Int32Array
  readonly named: IntList
}
