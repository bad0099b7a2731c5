/**
 * The documents of a combination that stayed a set (`common-words.ts`), split by which fields contain all of its words.
 * More words in one field always beat fewer, so each slice has its own upper bound, and slices below the threshold are
 * never examined.
 */
import { bitsOf, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { postingIn, type ListSet } from "../../index/list-sets.ts"
import { addList, type PostingList } from "./candidates.ts"
import { completeFields } from "./common-words.ts"
import { scoreHigh, scoreLow } from "./field-score.ts"
import { ALL_FIELDS, possiblyWhole, type UnscoredMatches, type UpperBounds } from "./upper-bounds.ts"

/**
 * Documents with all words in these fields and in no others: the sets of the lists of these fields, minus those of the
 * others.
 */
interface FieldSlice {
  /** The highest score that a document of the slice can have. */ readonly high: number
  readonly low: number
  /** Sets that contain every document of the slice. */ readonly within: ReadonlyArray<ReadonlyBits>
  /** By field: no document of the slice is in all of these sets. */
  readonly without: ReadonlyArray<ReadonlyArray<ReadonlyBits>>
  /** If no field contains all words: for each word, one of its sets contains the document. */
  readonly anywhere: ReadonlyArray<ReadonlyArray<ReadonlyBits>>
}

/** Space for sets of lists that are too short to have a cached set. Reused by the next combination. */
const rooms: Bits[] = []
const roomFor = (at: number, list: PostingList, docsOfSegment: number): Bits => {
  const size = (docsOfSegment + 31) >>> 5
  if (rooms[at] === undefined || rooms[at].length < size) rooms[at] = bitsOf(docsOfSegment)
  const room = rooms[at].subarray(0, size).fill(0)
  addList(room, list)
  return room
}

/** The lists of one combination as sets; used for one combination at a time. */
export class ListsAsSets {
  readonly bits: ReadonlyArray<Bits>
  private readonly lists: ReadonlyArray<PostingList>
  private readonly sets: ReadonlyArray<ListSet | undefined>

  constructor(lists: ReadonlyArray<PostingList>, docsOfSegment: number) {
    this.lists = lists
    this.sets = lists.map(({ column, term }) => column.setOf(term))
    this.bits = this.sets.map((set, at) => set?.bits ?? roomFor(at, lists[at], docsOfSegment))
  }
  /** The lists that contain a document, as bits. */
  markOf(doc: number): number {
    const { bits } = this
    const w = doc >>> 5,
      shift = doc & 31
    let mark = 0
    for (let bit = 0; bit < bits.length; bit++) mark |= ((bits[bit][w] >>> shift) & 1) << bit
    return mark
  }
  /** The posting of a document in a list that contains it. */
  posting(bit: number, doc: number): number {
    const set = this.sets[bit]
    return set === undefined ? this.lists[bit].column.posting(this.lists[bit].term, doc) : postingIn(set, doc)
  }

  /** The slices, those with the highest bounds first. */
  slices(one: UnscoredMatches, bounds: UpperBounds): FieldSlice[] {
    const { words } = one.scoring
    const complete = [...completeFields(this.lists, words)]
    const slices: FieldSlice[] = []
    for (let chosen = words === 1 ? 1 : 0; chosen < 1 << complete.length; chosen++) {
      let mark = (1 << this.lists.length) - 1
      const within: ReadonlyBits[] = [],
        without: ReadonlyBits[][] = []
      for (const [at, [, own]] of complete.entries()) {
        const sets = own.map((list) => this.bits[this.lists.indexOf(list)])
        if ((chosen & (1 << at)) !== 0) within.push(...sets)
        else {
          without.push(sets)
          // Outside these sets a document lacks one of the field's words, so the bound leaves one out.
          mark &= ~(1 << this.lists.indexOf(own[0]))
        }
      }
      bounds.bound(one, mark, chosen === 0 ? ALL_FIELDS : possiblyWhole(one, mark))
      slices.push({
        high: scoreHigh,
        low: scoreLow,
        within: within.sort((a, b) => this.sizeOf(a) - this.sizeOf(b)),
        without,
        anywhere: chosen === 0 ? this.byWord(words) : []
      })
    }
    return slices.sort((a, b) => b.high - a.high || b.low - a.low)
  }
  private sizeOf(bits: ReadonlyBits): number {
    const { column, term } = this.lists[this.bits.indexOf(bits as Bits)]
    return column.frequency(term)
  }
  private byWord(words: number): Bits[][] {
    return Array.from({ length: words }, (_word, word) => this.bits.filter((_bits, at) => this.lists[at].word === word))
  }
}

/** The documents of a slice within one block of 32 documents. */
export const sliceAt = (
  { anywhere, within, without }: FieldSlice,
  allowed: ReadonlyBits | undefined,
  w: number
): number => {
  let word = allowed === undefined ? -1 : allowed[w] | 0
  for (let i = 0; i < within.length && word !== 0; i++) word &= within[i][w]
  for (let i = 0; i < anywhere.length && word !== 0; i++) {
    const sets = anywhere[i]
    let any = 0
    for (let j = 0; j < sets.length; j++) any |= sets[j][w]
    word &= any
  }
  for (let i = 0; i < without.length && word !== 0; i++) {
    const sets = without[i]
    let all = -1
    for (let j = 0; j < sets.length; j++) all &= sets[j][w]
    word &= ~all
  }
  return word
}
