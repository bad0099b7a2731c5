/** Documents and where they stand in a list: by their rank, or where a caller or a rule put them. */
import type { Injection } from "../../plan.ts"
import { interleave } from "../rank/placement.ts"
import type { Ranked } from "../rank/rank.ts"

export interface Placed {
  readonly s: number
  readonly doc: number
  /** Absent for curated hits. */ readonly ranked?: Ranked
  readonly isCurated: boolean
  /** What a rule put here. */ readonly injection?: Injection
}
/** A pinned or injected document and where it stands, from 1. */
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
