/** Documents in insertion order, page by page, as exports and writes by filter read them. */
import { parseJson, select } from "../documents/mod.ts"
import type { ScanPage, ScanRequest } from "../engine.ts"
import { hasBit } from "../index/bits.ts"
import type { CollectionReader } from "../index/reader.ts"
import type { Document } from "../schema.ts"
import { spend } from "../budget/cutoff.ts"
import { allowedBits } from "./filter/filters.ts"
import type { SearchScope } from "./scope.ts"
import { firstNotBefore } from "../sorted.ts"

/** Cost of taking the next document, in steps, and number of characters parsed per step. */
const DOCUMENT_STEPS = 64,
  CHARACTERS_PER_STEP = 4

export const scanPage = (scope: SearchScope, reader: CollectionReader, request: ScanRequest): ScanPage => {
  const allowed = allowedBits(scope, reader, request.filter)
  const after = request.after ?? -1
  // One cursor per segment over its insertion order; the smallest insertion number is taken next.
  const cursors = reader.views.map(({ segment }) => ({
    order: segment.insertionOrder,
    seqs: segment.seqs,
    at: firstAfter(segment.insertionOrder, segment.seqs, after)
  }))
  const documents: Document[] = [],
    ids: string[] = []
  let last: number | undefined
  for (;;) {
    let best = -1,
      seq = Infinity
    spend(cursors.length * 4)
    for (let c = 0; c < cursors.length; c++) {
      const cursor = cursors[c],
        set = allowed[c],
        from = cursor.at
      while (cursor.at < cursor.order.length && set !== undefined && !hasBit(set, cursor.order[cursor.at])) cursor.at++
      spend(cursor.at - from)
      if (cursor.at < cursor.order.length && cursor.seqs[cursor.order[cursor.at]] < seq) {
        best = c
        seq = cursor.seqs[cursor.order[cursor.at]]
      }
    }
    if (best < 0) return { documents, ids, next: undefined }
    if (documents.length === request.limit) return { documents, ids, next: last }
    const doc = cursors[best].order[cursors[best].at++]
    last = seq
    const text = reader.documents.text(seq)
    if (text === undefined) continue
    if (spend(DOCUMENT_STEPS + ((text.length / CHARACTERS_PER_STEP) | 0))) return { documents, ids, next: last }
    const document = parseJson(text) as Document
    documents.push(request.selection === undefined ? document : select(document, request.selection))
    ids.push(reader.views[best].segment.idOf(doc))
  }
}
const firstAfter = (order: Uint32Array, seqs: Uint32Array, after: number): number =>
  firstNotBefore(0, order.length, (at) => seqs[order[at]] <= after)
