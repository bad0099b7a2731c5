/**
 * Which documents rules inject into a list, and at which positions. Documents that a rule names are known before
 * matching; the best match for a sponsored slot is known only afterwards.
 */
import {
  andInto,
  andNotInto,
  bitsOf,
  clearBit,
  fillBits,
  hasBit,
  setBit,
  type Bits,
  type ReadonlyBits
} from "../../index/bits.ts"
import type { Injection } from "../../plan.ts"
import type { Filter } from "../../filter.ts"
import { allowedBits } from "../filter/filters.ts"
import { settlePositions } from "../rank/placement.ts"
import type { Ranked } from "../rank/rank.ts"
import type { FixedDocument } from "./placed.ts"
import type { SearchRequest } from "./request.ts"

/** Finds the best document within some sets, one set per segment; undefined if there is none. */
interface BestDocuments {
  /** The best document of `within` that matches. */ bestWithin(within: ReadonlyArray<Bits>): Ranked | undefined
  /** The best one, whether or not it matches. */ bestAnywhere(within: ReadonlyArray<Bits>): Ranked | undefined
}
type Chosen = FixedDocument | undefined

export class Injecting {
  readonly #request: SearchRequest
  readonly #injected: ReadonlyArray<Injection>
  /** Documents that pass the caller's filter; undefined = all in a segment. */ readonly #filtered: ReadonlyArray<
    ReadonlyBits | undefined
  >
  #restricted: ReadonlyArray<ReadonlyBits | undefined> | undefined
  /** One per injection, in order; undefined if the injection shows nothing or is not known yet. */
  #chosen: Chosen[] = []

  constructor(request: SearchRequest, filtered: ReadonlyArray<ReadonlyBits | undefined>) {
    this.#request = request
    this.#injected = request.plan.injected ?? []
    const { scope, reader, plan } = request
    this.#filtered = plan.injectedFilter === undefined ? filtered : allowedBits(scope, reader, plan.injectedFilter)
  }
  get asksForBest(): boolean {
    return this.#injected.some(({ target }) => "filter" in target)
  }

  /** The named documents that exist and pass, then the pinned ones: at a contested position, the rule wins. */
  documents(curated: ReadonlyArray<FixedDocument>): FixedDocument[] {
    this.#chosen = this.#injected.map((injection) =>
      "id" in injection.target ? this.#named(injection, injection.target.id) : undefined
    )
    return this.#settled(curated)
  }
  /** Decision: a request hides documents only from its own hits; it cannot hide one that a rule places. */
  #named(injection: Injection, id: string): Chosen {
    const { reader } = this.#request
    const place = reader.locate(id)
    if (place === undefined) return undefined
    const passing = this.#passing(injection)[place.at]
    return passing === undefined || hasBit(passing, place.doc)
      ? { s: place.at, doc: place.doc, position: injection.position, injection }
      : undefined
  }
  #passing(injection: Injection): ReadonlyArray<ReadonlyBits | undefined> {
    const { scope, reader, plan } = this.#request
    return injection.mustPassFilter
      ? this.#filtered
      : (this.#restricted ??= allowedBits(scope, reader, plan.pinnedFilter))
  }

  /** Fills the slots for the best match in turn; no document fills two slots. O(documents / 32 + matches) per slot. */
  withBest(curated: ReadonlyArray<FixedDocument>, documents: BestDocuments): FixedDocument[] {
    this.#injected.forEach((injection, i) => {
      if ("filter" in injection.target) this.#chosen[i] = this.#best(injection, injection.target.filter, documents)
    })
    return this.#settled(curated)
  }
  #best(injection: Injection, filter: Filter, documents: BestDocuments): Chosen {
    const within = this.#eligible(injection, filter)
    const best = documents.bestWithin(within) ?? documents.bestAnywhere(within)
    return best === undefined ? undefined : { s: best.s, doc: best.doc, position: injection.position, injection }
  }
  /**
   * Live documents that pass both filters, are not hidden (the slot takes another instead) and are not injected
   * already.
   */
  #eligible(injection: Injection, filter: Filter): Bits[] {
    const { scope, reader, plan } = this.#request
    const passing = this.#passing(injection)
    return allowedBits(scope, reader, filter).map((bits, s) => {
      const { segment, deleted } = reader.views[s]
      const own = bits?.slice() ?? fillBits(bitsOf(segment.docs), segment.docs)
      if (passing[s] !== undefined) andInto(own, passing[s]!)
      if (deleted !== undefined) andNotInto(own, deleted)
      for (const id of plan.hidden) for (const doc of segment.docsOfId(id)) clearBit(own, doc)
      for (const chosen of this.#chosen) if (chosen !== undefined && chosen.s === s) clearBit(own, chosen.doc)
      return own
    })
  }

  #settled(curated: ReadonlyArray<FixedDocument>): FixedDocument[] {
    const seen = this.#request.reader.views.map(({ segment }) => bitsOf(segment.docs))
    const claims = [...this.#chosen.flatMap((chosen) => chosen ?? []), ...curated].filter(({ s, doc }) => {
      const isFirst = !hasBit(seen[s], doc)
      setBit(seen[s], doc)
      return isFirst
    })
    return settlePositions(claims)
  }
}
