/**
 * Looks up the words of a query in the dictionaries of its fields: which term a word is in each segment, which
 * documents contain it, and whether any of them can match. Every word is looked up once per search.
 */
import type { TextQuery } from "../../plan.ts"
import type { CollectionSchema, Field } from "../../schema.ts"
import { bitsOf, hasBit, setBit, type ReadonlyBits } from "../../index/bits.ts"
import { passingUtf8 } from "../../index/bytes.ts"
import type { TextColumn } from "../../index/columns.ts"
import type { CollectionReader } from "../../index/reader.ts"
import { spend } from "../../budget/cutoff.ts"
import type { SegmentMatches } from "./segment-matches.ts"

/** Cost of reading a word of the vocabulary, in steps. */
export const WORD_STEPS = 8
/** Documents examined between two checks of the time budget. */
const BLOCK_DOCS = 4_096,
  BLOCK_MASK = BLOCK_DOCS - 1
/** The first pass over a word's documents samples one in this many. */
const PROBE_STEP = 61

/** Index of a word's term at `segment · fields + field`, -1 if absent; undefined for a word that was not looked up. */
export type KnownTerms = (word: string) => ReadonlyArray<number> | undefined

export class TermLookup {
  /** The fields of the query, in its order. */
  readonly fields: ReadonlyArray<Field>
  /** By segment and field; undefined if the segment has no text of the field. */
  readonly columns: ReadonlyArray<ReadonlyArray<TextColumn | undefined>>
  /** Words are chosen by their documents' best value (`default_sorting_field`), else by number of documents. */
  readonly byBestValue: boolean
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly termCache = new Map<string, ReadonlyArray<number>>()
  private readonly documentCache = new Map<string, ReadonlyBits>()

  constructor(reader: CollectionReader, query: TextQuery, matches: ReadonlyArray<SegmentMatches>) {
    this.fields = query.fields.map(({ field }) => fieldOf(reader.schema, field))
    this.columns = matches.map(({ view }) => query.fields.map(({ field }) => view.segment.text(field)))
    this.byBestValue =
      reader.schema.default_sorting_field !== "" &&
      matches.some((_match, s) => this.columns[s].some((column) => column?.best !== undefined))
    this.matches = matches
  }

  readonly knownTerms: KnownTerms = (word) => this.termCache.get(word)

  /** Index of the word's term per segment and field, -1 if absent. */
  termsOf(word: string): ReadonlyArray<number> {
    let terms = this.termCache.get(word)
    if (terms === undefined) {
      const bytes = passingUtf8(word),
        found: number[] = []
      const width = this.fields.length
      for (let s = 0; s < this.matches.length; s++) {
        spend(width * WORD_STEPS)
        for (let f = 0; f < width; f++) found.push(this.columns[s][f]?.terms.find(bytes) ?? -1)
      }
      this.termCache.set(word, (terms = found))
    }
    return terms
  }

  /** Whether any segment has the word in this field. */
  exists(field: number, word: string): boolean {
    const terms = this.termsOf(word)
    for (let at = field; at < terms.length; at += this.fields.length) if (terms[at] >= 0) return true
    return false
  }
  /** Fields that contain a word, most documents first. */
  fieldsHolding(word: string): number[] {
    const terms = this.termsOf(word)
    const width = this.fields.length
    const counted: Array<{ field: number; documents: number }> = []
    for (let field = 0; field < width; field++) {
      let documents = 0
      for (let s = 0; s < this.matches.length; s++) {
        const term = terms[s * width + field]
        if (term >= 0) documents += this.columns[s][field]!.frequency(term)
      }
      if (documents > 0) counted.push({ field, documents })
    }
    return counted.sort((a, b) => b.documents - a.documents || a.field - b.field).map(({ field }) => field)
  }

  /** Number of documents of a word over all segments, or the best value among them. */
  worthOf(field: number, word: Uint8Array): number {
    let worth = 0
    for (let s = 0; s < this.matches.length; s++) {
      const column = this.columns[s][field]
      const term = column === undefined ? -1 : column.terms.find(word)
      if (term < 0) continue
      worth =
        this.byBestValue && column!.best !== undefined
          ? Math.max(worth, column!.best[term])
          : worth + column!.frequency(term)
    }
    return worth
  }

  /** Whether the search has a filter, phrases or exclusions, so that a word may have no matching document. */
  get isRestricted(): boolean {
    return this.matches.some(({ allowed }) => allowed !== undefined)
  }
  /** Whether a live, allowed document has the term (and, if `previous` is given, that word in the same field). */
  isUsable(s: number, field: number, term: number, previous: string | undefined): boolean {
    const column = this.columns[s][field]!
    const { allowed } = this.matches[s]
    const before = previous === undefined ? undefined : this.documentsOf(s, field, previous)
    if (allowed === undefined && before === undefined) return true
    const { docs } = column,
      from = column.starts[term],
      end = column.starts[term + 1]
    // Similar documents are stored together, so a spread-out sample usually decides.
    spend(4)
    for (let p = from; p < end; p += PROBE_STEP) if (passes(docs[p], allowed, before)) return true
    for (let p = from; p < end; p++) {
      if ((p & BLOCK_MASK) === 0 && spend(BLOCK_DOCS)) return false
      if (passes(docs[p], allowed, before)) return true
    }
    return false
  }
  private documentsOf(s: number, field: number, word: string): ReadonlyBits {
    const column = this.columns[s][field]!,
      term = this.termsOf(word)[s * this.fields.length + field]
    const set = term < 0 ? undefined : column.setOf(term)
    if (set !== undefined) return set.bits
    const key = `${s}|${field}|${word}`
    let bits = this.documentCache.get(key)
    if (bits === undefined) {
      const own = bitsOf(this.matches[s].view.segment.docs)
      if (term >= 0) {
        const { docs, starts } = column
        for (let p = starts[term], end = starts[term + 1]; p < end; p++) setBit(own, docs[p])
      }
      this.documentCache.set(key, (bits = own))
    }
    return bits
  }
}

const passes = (doc: number, allowed: ReadonlyBits | undefined, before: ReadonlyBits | undefined): boolean =>
  (allowed === undefined || hasBit(allowed, doc)) && (before === undefined || hasBit(before, doc))

const fieldOf = (schema: CollectionSchema, name: string): Field => {
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw new Error(`plan names the unknown field ${name}`)
  return field
}
