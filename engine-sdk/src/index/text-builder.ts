/** Collects the words of a text field as they are added: token numbers, documents, positions. `finish` sorts them. */
import { type Analyzer } from "../analysis/tokens.ts"
import type { IndexValue } from "../documents/mod.ts"
import { AsciiTokens } from "../analysis/ascii-tokens.ts"
import { NumberLog, WordLog } from "./bytes.ts"
import { SPILLED } from "./columns.ts"
import { SectionWriter } from "./sections.ts"
import { TokenTable } from "./token-table.ts"
import { type ColumnBuilder, ValueBuilder } from "./value-builder.ts"

const POSITION_MAX = 0xffff
const ELEMENT_MAX = 0x7fff

const SHARED_STEP = 8_192
/** Number of bytes that each term shares with the one before it. Yields every few thousand terms. */
export function* sharing(bytes: Uint8Array, offsets: Uint32Array): Generator<void, Uint8Array> {
  const shared = new Uint8Array(Math.max(0, offsets.length - 1))
  for (let term = 1; term < shared.length; term++) {
    const a = offsets[term - 1],
      b = offsets[term]
    const most = Math.min(b - a, offsets[term + 1] - b, 255)
    let n = 0
    while (n < most && bytes[a + n] === bytes[b + n]) n++
    shared[term] = n
    if (term % SHARED_STEP === 0) yield
  }
  return shared
}
/** Like `sharing`, in one go, for tables that are small or built without slices. */
export const sharedPrefixes = (bytes: Uint8Array, offsets: Uint32Array): Uint8Array => {
  const work = sharing(bytes, offsets)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
/** Writes what follows the terms of a text column, in the order in which the column reads it. */
export function* putPostings(
  out: SectionWriter,
  prefix: string,
  postings: {
    readonly table: { readonly bytes: Uint8Array; readonly offsets: Uint32Array }
    readonly best: Float64Array | undefined
    readonly starts: Uint32Array
    readonly docs: Uint32Array
    readonly locs: Uint32Array
    readonly spill: Uint32Array
  }
): Generator<void, void> {
  out.put(prefix + "shared", yield* sharing(postings.table.bytes, postings.table.offsets))
  if (postings.best !== undefined) out.put(prefix + "best", postings.best)
  out.put(prefix + "starts", postings.starts)
  out.put(prefix + "docs", postings.docs)
  out.put(prefix + "locs", postings.locs)
  out.put(prefix + "spill", postings.spill)
}

/** Shared, because builders fill one at a time. */
export const ascii = new AsciiTokens()
export class TextBuilder implements ColumnBuilder {
  private readonly ids = new TokenTable()
  /** The word numbers of every text, one text after another; `texts` says which belong to which. */
  private readonly log = new WordLog(96)
  /** (document, tokens) for every text: one per document in plain fields, one per element in arrays. */
  private readonly texts = new WordLog()
  private readonly analyzer: Analyzer
  private readonly isArray: boolean
  private readonly scores: NumberLog | undefined
  /** The same field's verbatim values, filled from here: a facet's few texts are numbered and tokenized once. */
  private readonly values: ValueBuilder | undefined
  /** Where the word numbers of each value start in `known`. */ private readonly knownStarts = new WordLog()
  private readonly known = new WordLog()
  constructor(analyzer: Analyzer, isArray: boolean, scores: NumberLog | undefined, values: ValueBuilder | undefined) {
    this.analyzer = analyzer
    this.isArray = isArray
    this.scores = scores
    this.values = values
    this.knownStarts.push(0)
  }
  add(doc: number, value: IndexValue): void {
    if (typeof value === "string") this.element(doc, value)
    else if (Array.isArray(value)) for (let i = 0; i < value.length; i++) this.element(doc, String(value[i]))
  }
  private element(doc: number, text: string): void {
    if (this.values === undefined) {
      this.words(doc, text)
      return
    }
    const value = this.values.text(doc, text)
    const { known, knownStarts, log } = this
    if (value + 1 === knownStarts.length) {
      const from = log.length
      this.words(doc, text)
      for (let at = from; at < log.length; at++) known.push(log.words[at])
      knownStarts.push(known.length)
      return
    }
    const start = knownStarts.words[value],
      count = knownStarts.words[value + 1] - start
    log.reserve(count)
    const { words } = log,
      from = known.words
    for (let i = 0, at = log.length; i < count; i++) words[at++] = from[start + i]
    log.length += count
    this.texts.push(doc)
    this.texts.push(count)
  }
  private words(doc: number, text: string): void {
    const { ids, log } = this
    const tokens = this.analyzer.asciiTokens(text, ascii) ? undefined : this.analyzer.tokenize(text)
    const count = tokens === undefined ? ascii.count : tokens.length
    log.reserve(count)
    const { words } = log
    const { bytes, ends, hashes } = ascii
    let at = log.length
    for (let position = 0, start = 0; position < count; position++) {
      if (tokens === undefined) {
        words[at++] = ids.idOf(bytes, start, ends[position], hashes[position])
        start = ends[position]
      } else words[at++] = ids.idOfText(tokens[position])
    }
    log.length = at
    this.texts.push(doc)
    this.texts.push(count)
  }
  *finish(out: SectionWriter, at: number, docs: number): Generator<void, void> {
    const prefix = `t${at}.`
    const table = this.ids.put(out, prefix + "terms.")
    yield
    const sorted = this.sorted(table.rank)
    yield
    const postings = this.postings(sorted)
    yield
    yield* putPostings(out, prefix, { table, ...postings })
    this.putLengths(out, prefix, docs)
  }
  /** Counting sort of all tokens by term, stable: those of a term stay in the order of documents and positions. */
  private sorted(rank: Uint32Array): Sorted {
    const size = rank.length,
      entries = this.log.length,
      { words } = this.log
    const begin = new Uint32Array(size + 1)
    for (let e = 0; e < entries; e++) begin[rank[words[e]] + 1]++
    for (let t = 0; t < size; t++) begin[t + 1] += begin[t]
    /** By word number instead of term, so that the loop over all tokens looks up one number less. */
    const next = new Uint32Array(size)
    for (let id = 0; id < size; id++) next[id] = begin[rank[id]]
    const docs = new Uint32Array(entries),
      places = new Uint32Array(entries)
    const { length, words: texts } = this.texts
    for (let t = 0, e = 0, last = -1, element = 0; t < length; t += 2) {
      const doc = texts[t],
        first = e
      element = doc === last ? element + 1 : 0
      last = doc
      const base = (element < ELEMENT_MAX ? element : ELEMENT_MAX) * 0x10000
      for (const end = e + texts[t + 1]; e < end; e++) {
        const to = next[words[e]]++,
          position = e - first
        docs[to] = doc
        places[to] = base + (position < POSITION_MAX ? position : POSITION_MAX)
      }
    }
    return { begin, docs, places }
  }
  /** One posting per term and document. They overwrite the tokens they are built from: there are never more of them. */
  private postings({ begin, docs, places }: Sorted): Omit<Parameters<typeof putPostings>[2], "table"> {
    const size = begin.length - 1
    const starts = new Uint32Array(size + 1)
    const spill = new WordLog(16)
    const scores = this.scores?.numbers
    const best = scores === undefined ? undefined : new Float64Array(size).fill(-Infinity)
    let to = 0
    for (let t = 0; t < size; t++) {
      const end = begin[t + 1]
      for (let i = begin[t]; i < end;) {
        const doc = docs[i]
        let j = i + 1
        while (j < end && docs[j] === doc) j++
        if (j === i + 1) places[to] = places[i]
        else {
          const spilled = spill.length
          spill.push(j - i)
          for (let k = i; k < j; k++) spill.push(places[k])
          places[to] = SPILLED | spilled
        }
        docs[to++] = doc
        if (best !== undefined && scores![doc] > best[t]) best[t] = scores![doc]
        i = j
      }
      starts[t + 1] = to
    }
    return { best, starts, docs: docs.subarray(0, to), locs: places.subarray(0, to), spill: spill.done() }
  }
  private putLengths(out: SectionWriter, prefix: string, docs: number): void {
    const { length, words: texts } = this.texts
    if (this.isArray) {
      const elementStarts = new Uint32Array(docs + 1),
        elementLengths = new Uint16Array(length / 2)
      for (let e = 0; e < elementLengths.length; e++) {
        elementStarts[texts[e * 2] + 1]++
        elementLengths[e] = Math.min(texts[e * 2 + 1], POSITION_MAX)
      }
      for (let d = 0; d < docs; d++) elementStarts[d + 1] += elementStarts[d]
      out.put(prefix + "elementStarts", elementStarts)
      out.put(prefix + "elementLengths", elementLengths)
    } else {
      const lengths = new Uint16Array(docs)
      for (let e = 0; e < length; e += 2) lengths[texts[e]] = Math.min(texts[e + 1], POSITION_MAX)
      out.put(prefix + "lengths", lengths)
    }
  }
}
/** The documents and places of all tokens, by term; those of term t are `begin[t] .. begin[t + 1]`. */
interface Sorted {
  readonly begin: Uint32Array
  readonly docs: Uint32Array
  readonly places: Uint32Array
}
