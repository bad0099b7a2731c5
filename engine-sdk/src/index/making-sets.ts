/** Makes the sets of a segment's common words (`list-sets.ts`) as a derived section: once, for all threads. */
import { COMMON_WORDS, sectionsOf, type SectionToPut } from "./derived-sections.ts"
import type { TextColumn } from "./columns.ts"
import { fillSet, isDense, SET_SEGMENT_DOCS_MIN } from "./list-sets.ts"
import { SectionWriter } from "./sections.ts"
import type { Segment } from "./segment.ts"
import { setAt, setsName, strideOf, termsName } from "./stored-sets.ts"

/** Sets take at most half as much memory as the postings of the segment: four bytes for each posting's eight. */
const SET_BYTES_PER_POSTING = 4
/** Terms or postings between two steps. */
const STEP = 65_536

/** Whether the segment is large enough for sets and has none. */
export const lacksCommonWords = (segment: Segment): boolean =>
  segment.docs >= SET_SEGMENT_DOCS_MIN && !sectionsOf(segment).has(COMMON_WORDS)

interface CommonWord {
  /** Index of the field. */ readonly at: number
  readonly column: TextColumn
  readonly term: number
}
/**
 * Cost: one pass over the vocabulary, then, while the section is laid out, one over the postings of the words that get
 * a set. If the segment is released meanwhile, the sets are of no use, and the caller drops the section.
 */
export function* makingCommonWords(segment: Segment): Generator<void, SectionToPut> {
  const { docs } = segment,
    chosen = yield* choosing(segment)
  return {
    name: COMMON_WORDS,
    put: (allocate) => {
      const out = new SectionWriter()
      for (let at = 0; at < segment.meta.fields.length; at++) {
        const own = chosen.filter((word) => word.at === at)
        if (own.length === 0) continue
        out.put(
          termsName(at),
          Uint32Array.from(own, ({ term }) => term)
        )
        out.putLater(setsName(at), own.length * strideOf(docs), (sets) => filling(sets, own, docs))
      }
      return out.finishing(docs, [], allocate)
    }
  }
}
/** The most frequent words of all fields, as many as may have a set, by field and term. */
function* choosing(segment: Segment): Generator<void, CommonWord[]> {
  const { docs, meta } = segment,
    common: CommonWord[] = []
  let postings = 0,
    seen = 0
  for (let at = 0; at < meta.fields.length; at++) {
    const column = segment.text(meta.fields[at])
    if (column === undefined) continue
    postings += column.docs.length
    for (let term = 0; term < column.terms.size; term++) {
      if (isDense(column.frequency(term), docs)) common.push({ at, column, term })
      if (++seen % STEP === 0) yield
    }
  }
  const most = Math.floor((postings * SET_BYTES_PER_POSTING) / (strideOf(docs) * 4))
  return common
    .sort((a, b) => b.column.frequency(b.term) - a.column.frequency(a.term))
    .slice(0, most)
    .sort((a, b) => a.at - b.at || a.term - b.term)
}
function* filling(sets: Uint32Array, words: ReadonlyArray<CommonWord>, docs: number): Generator<void, void> {
  let read = 0
  for (let i = 0; i < words.length; i++) {
    const { column, term } = words[i],
      set = setAt(sets, i, docs)
    set.bits.fill(0)
    fillSet(set, column.docs, column.starts[term], column.starts[term + 1])
    read += column.frequency(term)
    if (read < STEP) continue
    read = 0
    yield
  }
}
