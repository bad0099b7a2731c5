/**
 * What a unit did, as sums that facts are added to and subtracted from: in a run of an experiment, or on a day before
 * it.
 */
import type { Interaction, SearchFacts, Sign } from "../../facts/facts.ts"

export interface UnitFigures {
  searches: number
  noResults: number
  clicked: number
  purchased: number
  /** Units of the amounts of purchases, as in `Money`. */ units: number
  micros: number
}
export const noFigures = (): UnitFigures => ({
  searches: 0,
  noResults: 0,
  clicked: 0,
  purchased: 0,
  units: 0,
  micros: 0
})

export const addSearch = (to: UnitFigures, { hasNoResults }: SearchFacts, sign: Sign): void => {
  to.searches += sign
  if (hasNoResults) to.noResults += sign
}
export const addConverted = (to: UnitFigures, kind: "click" | "purchase", sign: Sign): void => {
  if (kind === "click") to.clicked += sign
  else to.purchased += sign
}
export const addRevenue = (to: UnitFigures, { money }: Interaction, sign: Sign): void => {
  to.units += sign * money.units
  to.micros += sign * money.micros
}
export const isNothing = ({ clicked, micros, noResults, purchased, searches, units }: UnitFigures): boolean =>
  searches === 0 && noResults === 0 && clicked === 0 && purchased === 0 && units === 0 && micros === 0
