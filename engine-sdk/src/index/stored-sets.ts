/** The sets of a segment's common words in shared memory: how they are laid out there, and how they are read. */
import { basesOf, type ListSet } from "./list-sets.ts"
import type { SectionReader } from "./sections.ts"
import { firstNotBefore } from "../sorted.ts"

/** Names of the arrays of a field, by its index. */
export const termsName = (at: number): string => `${at}.terms`
export const setsName = (at: number): string => `${at}.sets`

/** A set: its bits, `firsts` at two bytes each, and `bases`; in 32-bit words. */
const layoutOf = (docs: number): { readonly words: number; readonly basesAt: number; readonly stride: number } => {
  const words = (docs + 31) >>> 5,
    basesAt = words + ((words + 1) >>> 1)
  return { words, basesAt, stride: basesAt + basesOf(words) }
}
/** Size of a set in 32-bit words. */
export const strideOf = (docs: number): number => layoutOf(docs).stride
/** Set number `i` of a field, as views. */
export const setAt = (sets: Uint32Array, i: number, docs: number): ListSet => {
  const { basesAt, stride, words } = layoutOf(docs),
    from = i * stride
  return {
    bits: sets.subarray(from, from + words),
    firsts: new Uint16Array(sets.buffer, sets.byteOffset + (from + words) * 4, words),
    bases: sets.subarray(from + basesAt, from + stride)
  }
}

/** The sets of one field. */
export class StoredSets {
  /** Terms with a set, ascending. */ private readonly terms: Uint32Array
  private readonly sets: Uint32Array
  private readonly docs: number
  /** Views of the sets that were read. */ private readonly read: Array<ListSet | undefined>
  /** Undefined if no word of the field has a set. */
  static of(section: SectionReader, at: number, docs: number): StoredSets | undefined {
    return section.has(termsName(at))
      ? new StoredSets(section.u32(termsName(at)), section.u32(setsName(at)), docs)
      : undefined
  }
  private constructor(terms: Uint32Array, sets: Uint32Array, docs: number) {
    this.terms = terms
    this.sets = sets
    this.docs = docs
    this.read = new Array<ListSet | undefined>(terms.length).fill(undefined)
  }
  /** O(log terms with a set). */
  get(term: number): ListSet | undefined {
    const { terms } = this,
      at = firstNotBefore(0, terms.length, (index) => terms[index] < term)
    return at < terms.length && terms[at] === term ? (this.read[at] ??= setAt(this.sets, at, this.docs)) : undefined
  }
}
