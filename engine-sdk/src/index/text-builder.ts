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
  private readonly log = new WordLog(96)
  /** Token counts: (document, tokens) for plain fields; per element for arrays, with a start per document. */
  private readonly lengths = new WordLog()
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
    if (typeof value === "string") this.element(doc, 0, value)
    else if (Array.isArray(value))
      for (let i = 0; i < value.length; i++) this.element(doc, Math.min(i, ELEMENT_MAX), String(value[i]))
  }
  private element(doc: number, element: number, text: string): void {
    if (this.values === undefined) {
      this.words(doc, element, text)
      return
    }
    const value = this.values.text(doc, text)
    const { known, knownStarts, log } = this
    if (value + 1 === knownStarts.length) {
      const from = log.length
      this.words(doc, element, text)
      for (let at = from; at < log.length; at += 3) known.push(log.words[at])
      knownStarts.push(known.length)
      return
    }
    const start = knownStarts.words[value],
      count = knownStarts.words[value + 1] - start
    log.reserve(count * 3)
    const { words } = log
    let at = log.length
    for (let position = 0; position < count; position++, at += 3) {
      words[at] = known.words[start + position]
      words[at + 1] = doc
      words[at + 2] = element * 0x10000 + (position < POSITION_MAX ? position : POSITION_MAX)
    }
    log.length = at
    this.lengths.push(doc)
    this.lengths.push(count < POSITION_MAX ? count : POSITION_MAX)
  }
  private words(doc: number, element: number, text: string): void {
    const { ids, log } = this
    const tokens = this.analyzer.asciiTokens(text, ascii) ? undefined : this.analyzer.tokenize(text)
    const count = tokens === undefined ? ascii.count : tokens.length
    log.reserve(count * 3)
    const { words } = log
    const { bytes, ends, hashes } = ascii
    let at = log.length
    for (let position = 0, start = 0; position < count; position++) {
      if (tokens === undefined) {
        words[at] = ids.idOf(bytes, start, ends[position], hashes[position])
        start = ends[position]
      } else words[at] = ids.idOfText(tokens[position])
      words[at + 1] = doc
      words[at + 2] = element * 0x10000 + (position < POSITION_MAX ? position : POSITION_MAX)
      at += 3
    }
    log.length = at
    this.lengths.push(doc)
    this.lengths.push(Math.min(count, POSITION_MAX))
  }
  *finish(out: SectionWriter, at: number, docs: number): Generator<void, void> {
    const prefix = `t${at}.`
    const table = this.ids.put(out, prefix + "terms.")
    yield
    const { rank } = table,
      size = rank.length
    const entries = this.log.length / 3
    const words = this.log.words
    // Counting sort by term, stable: entries stay in document order.
    const begin = new Uint32Array(size + 1)
    for (let e = 0; e < entries; e++) begin[rank[words[e * 3]] + 1]++
    for (let t = 0; t < size; t++) begin[t + 1] += begin[t]
    const sortedDocs = new Uint32Array(entries),
      sortedPlaces = new Uint32Array(entries)
    const next = begin.slice()
    for (let e = 0, at = 0; e < entries; e++, at += 3) {
      const to = next[rank[words[at]]]++
      sortedDocs[to] = words[at + 1]
      sortedPlaces[to] = words[at + 2]
    }
    yield
    const starts = new Uint32Array(size + 1)
    // Postings overwrite the sorted entries from which they are built, because there are never more of them.
    const docsOut = sortedDocs,
      locs = sortedPlaces,
      spill = new WordLog(16)
    const best = this.scores === undefined ? undefined : new Float64Array(size).fill(-Infinity)
    let to = 0
    for (let t = 0; t < size; t++) {
      const end = begin[t + 1]
      for (let i = begin[t]; i < end;) {
        const doc = sortedDocs[i]
        let j = i + 1
        while (j < end && sortedDocs[j] === doc) j++
        if (j === i + 1) locs[to] = sortedPlaces[i]
        else {
          const spilled = spill.length
          spill.push(j - i)
          for (let k = i; k < j; k++) spill.push(sortedPlaces[k])
          locs[to] = SPILLED | spilled
        }
        docsOut[to++] = doc
        if (best !== undefined && this.scores!.numbers[doc] > best[t]) best[t] = this.scores!.numbers[doc]
        i = j
      }
      starts[t + 1] = to
    }
    yield
    yield* putPostings(out, prefix, {
      table,
      best,
      starts,
      docs: docsOut.subarray(0, to),
      locs: locs.subarray(0, to),
      spill: spill.done()
    })
    if (this.isArray) {
      const elementStarts = new Uint32Array(docs + 1),
        elementLengths = new Uint16Array(this.lengths.length / 2)
      for (let e = 0; e < elementLengths.length; e++) {
        elementStarts[this.lengths.words[e * 2] + 1]++
        elementLengths[e] = this.lengths.words[e * 2 + 1]
      }
      for (let d = 0; d < docs; d++) elementStarts[d + 1] += elementStarts[d]
      out.put(prefix + "elementStarts", elementStarts)
      out.put(prefix + "elementLengths", elementLengths)
    } else {
      const lengths = new Uint16Array(docs)
      for (let e = 0; e < this.lengths.length; e += 2) lengths[this.lengths.words[e]] = this.lengths.words[e + 1]
      out.put(prefix + "lengths", lengths)
    }
  }
}
