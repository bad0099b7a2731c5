/**
 * Filters as bit sets, one per segment (`docs/contract/filters.md`). Leaves are computed from columns
 * (`text-filter.ts`, `number-filter.ts`, `geo-filter.ts`) and cached per segment (`leaf-cache.ts`), because segments
 * never change. Negation complements within the segment, so documents without the field are included.
 */
import type { Filter } from "../../filter.ts"
import {
  andInto,
  andNotInto,
  bitsOf,
  clearBit,
  eachBit,
  fillBits,
  notInto,
  orInto,
  setBit,
  type Bits,
  type ReadonlyBits
} from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import { spendInFilter, unlessGivenUp } from "../../budget/cutoff.ts"
import type { SearchScope } from "../scope.ts"
import { checksOf, hasMatchingElement, withoutNegations } from "./element-filter.ts"
import { geoBits, geoContainsBits } from "./geo-filter.ts"
import { cachedLeaf } from "./leaf-cache.ts"
import { boolBits, numberBits } from "./number-filter.ts"
import { docsWithKeys, keysOf, relationOf } from "./relations.ts"
import { TextFilters } from "./text-filter.ts"

/** Cost of looking up an id, in steps, and number of characters of a text parsed per step. */
const ID_STEPS = 16,
  CHARACTERS_PER_STEP = 4

type JoinFilter = Extract<Filter, { kind: "join" }>

/**
 * Live documents of each view that pass, read-only; undefined = every document passes and none is deleted. Empty for a
 * view that was not reached in time.
 */
export const allowedBits = (
  scope: SearchScope,
  reader: CollectionReader,
  filter: Filter | undefined
): Array<ReadonlyBits | undefined> => {
  const evaluation = new FilterEvaluation(scope, reader)
  const passing = (view: SegmentView): ReadonlyBits | undefined => {
    if (filter === undefined && view.deleted === undefined) return undefined
    if (view.deleted === undefined) return evaluation.shared(filter!, view)
    return andNotInto(
      filter === undefined ? fillBits(bitsOf(view.segment.docs), view.segment.docs) : evaluation.bits(filter, view),
      view.deleted
    )
  }
  return reader.views.map(
    (view) =>
      unlessGivenUp(() => passing(view), undefined) ??
      (filter === undefined && view.deleted === undefined ? undefined : bitsOf(view.segment.docs))
  )
}

export class FilterEvaluation {
  private readonly scope: SearchScope
  private readonly reader: CollectionReader
  private readonly texts: TextFilters
  /** Values of the other collection that a join lets through; all segments of this collection share them. */
  private readonly joined = new Map<Filter, ReadonlySet<string>>()
  constructor(scope: SearchScope, reader: CollectionReader) {
    this.scope = scope
    this.reader = reader
    this.texts = new TextFilters(reader)
  }
  /** The bits of a filter; none if time ran out. */
  complete(filter: Filter, view: SegmentView): Bits {
    return unlessGivenUp(() => this.bits(filter, view), undefined) ?? bitsOf(view.segment.docs)
  }

  /** A read-only set that may be cached. It may contain deleted documents. */
  shared(filter: Filter, view: SegmentView): ReadonlyBits {
    const { segment } = view
    switch (filter.kind) {
      case "string":
        return filter.values.some((value) => value.prefix)
          ? this.texts.bits(filter, segment)
          : cachedLeaf(segment, filter, () => this.texts.bits(filter, segment))
      case "number": {
        const compute = (): Bits => numberBits(filter, segment)
        // The cache key does not distinguish infinite ends by their sign.
        return filter.ranges.some(({ max, min }) => min === Infinity || max === -Infinity)
          ? compute()
          : cachedLeaf(segment, filter, compute)
      }
      case "bool":
        return cachedLeaf(segment, filter, () => boolBits(filter.field, filter.values, segment))
      case "geo":
        return cachedLeaf(segment, filter, () => geoBits(filter, segment))
      default:
        return this.bits(filter, view)
    }
  }
  /** A fresh set that the caller may change. It may contain deleted documents. */
  bits(filter: Filter, view: SegmentView): Bits {
    const { segment } = view
    spendInFilter(segment.docs >>> 5)
    switch (filter.kind) {
      case "and":
        return andInto(this.bits(filter.left, view), this.shared(filter.right, view))
      case "or":
        return orInto(this.bits(filter.left, view), this.shared(filter.right, view))
      case "not":
        return notInto(this.bits(filter.filter, view), segment.docs)
      case "all":
        return fillBits(bitsOf(segment.docs), segment.docs)
      case "none":
        return bitsOf(segment.docs)
      case "ids": {
        const bits = bitsOf(segment.docs)
        for (const id of filter.ids) {
          spendInFilter(ID_STEPS)
          for (const doc of segment.docsOfId(id)) setBit(bits, doc)
        }
        return bits
      }
      case "string":
      case "number":
      case "bool":
      case "geo":
        return this.shared(filter, view).slice()
      case "geo_contains":
        return geoContainsBits(filter, segment)
      case "element":
        return this.elementBits(filter.path, filter.filter, view)
      case "join":
        return this.joinBits(filter, view)
    }
  }

  /** Documents related to a document that passes the join's filter. */
  private joinBits(join: JoinFilter, view: SegmentView): Bits {
    const other = this.scope.collection(join.collection)
    const relation = other === undefined ? undefined : relationOf(this.reader.schema, other.schema)
    if (other === undefined || relation === undefined) return bitsOf(view.segment.docs)
    let wanted = this.joined.get(join)
    if (wanted === undefined) {
      const evaluation = new FilterEvaluation(this.scope, other)
      wanted = keysOf(other, relation.foreign, (one) => evaluation.bits(join.filter, one))
      this.joined.set(join, wanted)
    }
    return docsWithKeys(view.segment, relation.local, wanted)
  }

  /**
   * Columns narrow down the documents; the stored document decides, because only it shows which values share an
   * element.
   */
  private elementBits(path: string, inner: Filter, view: SegmentView): Bits {
    const possible = this.bits(withoutNegations(inner), view)
    if (view.deleted !== undefined) andNotInto(possible, view.deleted)
    const { segment } = view
    const checks = checksOf(inner)
    eachBit(possible.slice(), (doc) => {
      const text = this.reader.documents.text(segment.seqs[doc])
      spendInFilter(ID_STEPS + (((text?.length ?? 0) / CHARACTERS_PER_STEP) | 0) * checks)
      if (text === undefined || !hasMatchingElement(this.reader.schema, inner, text, path)) clearBit(possible, doc)
    })
    return possible
  }
}
