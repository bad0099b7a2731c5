/** Which lists of a combination contain each of its documents, and the postings of the documents that are scored. */
import type { Bits } from "../../index/bits.ts"
import { postingIn, type ListSet } from "../../index/list-sets.ts"
import { addList, firstFrom, SET_DOCS_MIN, SPARSE_FACTOR, spareSet, type PostingList } from "./candidates.ts"

/** Postings of the current documents: a row per document with a cell per list. */
export let postingRows = new Uint32Array(1 << 14)
/** The lists that contain each document, as bits. */
export let marks = new Uint32Array(1 << 12)
/** A list is searched per document if it is this many times longer than the list of documents. */
const LONG_LIST_FACTOR = 8
/** Up to this many documents, the rows of all are filled in one pass. */
const FEW_DOCS = 4_096
/** Up to one in this many documents are looked up one by one; beyond it, one pass fills the rows of all. */
const SINGLE_ROWS_SHARE = 32

/** Marks and postings of the documents of one combination; used for one combination at a time. */
export class PostingRows {
  private readonly lists: ReadonlyArray<PostingList>
  private readonly docs: Uint32Array
  /** There is a single list, so a document's index is its posting's. */ private readonly isList: boolean
  private readonly sets: Array<ListSet | undefined> = []
  /** Lists (by bit) whose cells are filled for all documents. */ private walked = 0
  /** Marks may have been replaced by numbers since (`upper-bounds.ts`). */ private areMarksDone = false
  private left: number
  /** Whether documents differ in which lists contain them. */ readonly isMarked: boolean
  /**
   * `words`: number of lists that contain every document, if there are no others. Cost: a lookup per list and document,
   * and a pass over lists that have no set.
   */
  constructor(lists: ReadonlyArray<PostingList>, words: number, docs: Uint32Array, docsOfSegment: number) {
    const n = docs.length
    this.lists = lists
    this.docs = docs
    // If every word has one list, every document is in all of them, and nothing has to be marked.
    this.isMarked = lists.length > words
    this.isList = lists.length === 1 && n === lists[0].column.frequency(lists[0].term)
    this.left = n <= FEW_DOCS ? 0 : Math.floor(n / SINGLE_ROWS_SHARE)
    if (postingRows.length < n * lists.length) postingRows = new Uint32Array(n * lists.length * 2)
    if (this.isList) return
    for (const { column, term } of lists) this.sets.push(column.setOf(term, n < SET_DOCS_MIN))
    if (!this.isMarked) return
    if (marks.length < n) marks = new Uint32Array(n * 2)
    marks.fill(0, 0, n)
    for (let bit = 0; bit < lists.length; bit++) {
      const { column, term } = lists[bit],
        set = this.sets[bit]
      if (set !== undefined) markIn(set.bits, docs, bit, marks)
      else if (n <= FEW_DOCS || n * SPARSE_FACTOR < docsOfSegment || column.frequency(term) > n * LONG_LIST_FACTOR)
        this.walk(bit)
      else markIn(listBits(lists[bit], docsOfSegment), docs, bit, marks)
    }
    this.areMarksDone = true
  }
  /** Fills the cells of these lists (by bit) for a document that they contain. */
  fill(i: number, doc: number, wanted: number): void {
    const { lists, sets } = this
    if (this.isList) {
      postingRows[i] = lists[0].column.starts[lists[0].term] + i
      return
    }
    const row = i * lists.length
    for (let rest = wanted & ~this.walked; rest !== 0; rest &= rest - 1) {
      const bit = 31 - Math.clz32(rest & -rest),
        set = sets[bit]
      if (set !== undefined) postingRows[row + bit] = postingIn(set, doc)
      else if (this.left-- > 0) postingRows[row + bit] = lists[bit].column.posting(lists[bit].term, doc)
      else this.walk(bit)
    }
  }
  /** Fills marks and cells of all documents for one list, galloping through the list if it is much longer. */
  private walk(bit: number): void {
    const { docs, lists } = this
    const marksThem = this.isMarked && !this.areMarksDone
    const {
      column: { docs: from, starts },
      term
    } = lists[bit]
    const cells = postingRows,
      width = lists.length,
      all = marks,
      n = docs.length
    const end = starts[term + 1],
      isLong = end - starts[term] > n * LONG_LIST_FACTOR
    for (let i = 0, p = firstFrom(from, starts[term], end, docs[0]); i < n && p < end; i++) {
      const doc = docs[i]
      if (isLong) p = firstFrom(from, p, end, doc)
      else while (p < end && from[p] < doc) p++
      if (p < end && from[p] === doc) {
        if (marksThem) all[i] |= 1 << bit
        cells[i * width + bit] = p++
      }
    }
    this.walked |= 1 << bit
  }
}
const listBits = (list: PostingList, docsOfSegment: number): Bits => {
  const bits = spareSet(docsOfSegment)
  addList(bits.fill(0), list)
  return bits
}
/** Branch-free, because which documents a list contains is unpredictable. */
const markIn = (bits: Bits, docs: Uint32Array, bit: number, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    into[i] |= ((bits[doc >>> 5] >>> (doc & 31)) & 1) << bit
  }
}
