/** Group numbers of documents by the values of their group fields (`docs/contract/facets.md#groups`). */
import type { GroupRequest } from "../../plan.ts"
import type { SegmentView } from "../../index/reader.ts"
import { spend } from "../../budget/cutoff.ts"
import { eachOrdinal } from "../../index/columns.ts"

/** Numbers groups across segments: documents with the same values share one. */
export class Grouping {
  private readonly request: GroupRequest
  private readonly numbers = new Map<string, number>()
  private readonly byOrdinal: Array<Int32Array | undefined> = []
  private readonly byDoc: Array<Int32Array | undefined> = []
  private next = 0
  private readonly views: ReadonlyArray<SegmentView>
  private readonly lone: Array<Map<number, number>> = []
  constructor(request: GroupRequest, views: ReadonlyArray<SegmentView>) {
    this.request = request
    this.views = views
  }
  /** The group of a document. Without `missingValues`, a document that lacks a value forms a group of its own. */
  groupOf(s: number, doc: number): number {
    const { segment } = this.views[s]
    if (this.request.fields.length === 1) {
      const column = segment.values(this.request.fields[0])
      if (column?.single !== undefined) {
        const ordinal = column.single[doc]
        if (ordinal === 0) return this.missing(s, doc, "")
        const known = (this.byOrdinal[s] ??= new Int32Array(column.table.size).fill(-1))
        if (known[ordinal - 1] < 0) known[ordinal - 1] = this.numberOf(`1:${column.table.text(ordinal - 1)}`)
        return known[ordinal - 1]
      }
    }
    // A list of thousands of values is read once, because the same document is looked up many times.
    const byDoc = (this.byDoc[s] ??= new Int32Array(segment.docs).fill(-1))
    if (byDoc[doc] < 0) byDoc[doc] = this.groupOfLists(s, doc)
    return byDoc[doc]
  }
  private groupOfLists(s: number, doc: number): number {
    const { segment } = this.views[s]
    let key = "",
      lacks = false
    for (const field of this.request.fields) {
      const column = segment.values(field)
      let values = 0
      if (column !== undefined)
        eachOrdinal(column, doc, (ordinal) => {
          spend(16)
          const text = column.table.text(ordinal)
          key += `${text.length}:${text}`
          values++
        })
      if (values === 0) lacks = true
      key += "|"
    }
    return lacks && !this.request.missingValues ? this.missing(s, doc, key) : this.numberOf(key)
  }
  private missing(s: number, doc: number, key: string): number {
    if (this.request.missingValues) return this.numberOf(`0:${key}`)
    const own = (this.lone[s] ??= new Map())
    let number = own.get(doc)
    if (number === undefined) own.set(doc, (number = this.next++))
    return number
  }
  private numberOf(key: string): number {
    let number = this.numbers.get(key)
    if (number === undefined) this.numbers.set(key, (number = this.next++))
    return number
  }
}
