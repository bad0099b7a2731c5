/** Documents and their positions in a list: by rank, or where a caller or a rule placed them. */
import type { Injection } from "../../plan.ts"
import { interleave } from "../rank/placement.ts"
import type { Ranked } from "../rank/rank.ts"

export interface Placed {
  readonly s: number
  readonly doc: number
  /** Absent for curated hits. */ readonly ranked?: Ranked
  readonly isCurated: boolean
  /** The rule's injection that placed the document here. */ readonly injection?: Injection
}
/** A pinned or injected document and its position, from 1. */
export interface FixedDocument {
  readonly s: number
  readonly doc: number
  readonly position: number
  readonly injection?: Injection
}

export const organicPlace = (entry: Ranked): Placed => ({ s: entry.s, doc: entry.doc, ranked: entry, isCurated: false })
export const fixedPlace = ({ s, doc, injection }: FixedDocument): Placed => ({
  s,
  doc,
  isCurated: true,
  ...(injection === undefined ? {} : { injection })
})
/** Ranked documents with the fixed ones at their positions, `end` at most. */
export const placeAmong = (
  ranked: ReadonlyArray<Ranked>,
  pinned: ReadonlyArray<FixedDocument>,
  end: number
): Placed[] =>
  pinned.length === 0
    ? ranked.map(organicPlace)
    : interleave(
        ranked.map(organicPlace),
        pinned.map((pin) => ({ ...fixedPlace(pin), position: pin.position })),
        end
      )
