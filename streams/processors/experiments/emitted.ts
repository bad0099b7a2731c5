/**
 * What the units of experiments did in one flush: changes of each unit's own figures, which cancel out when something
 * is retracted; and what users did, whether in an experiment or not. Searches without a user that no experiment
 * answered cost two comparisons per fact.
 */
import { bucketOf } from "@dowser/engine-sdk/experiments"
import type { ServedExposure, ServedSearch } from "@dowser/log/event-schema"
import type { FactSink, Interaction, SearchFacts, Sign } from "../../facts/facts.ts"
import type { Subject } from "../../facts/subjects.ts"
import { DAY_MS } from "../../figures/grain.ts"
import { addConverted, addRevenue, addSearch, noFigures, type UnitFigures } from "./figures.ts"
import { Histories } from "./histories.ts"

/** What changed for one unit. */
export interface UnitChange extends UnitFigures {
  readonly unit: number
  /** A bit for each variant that answered the unit. */ variants: number
  /** Day (ms, UTC) of its first answer in this flush; Infinity for none. */ firstDay: number
  /**
   * Its dimensions at its first answer; of several values the last in byte order, so that arrival order does not
   * matter. Empty if unknown.
   */
  readonly split: Record<Dimension, string>
  /** For interleaved answers: clicks and purchases of items that only one of the rankings proposed. */
  readonly credits: Credits
}
interface Credits {
  clicked_a: number
  clicked_b: number
  purchased_a: number
  purchased_b: number
}
export const CREDITS = ["clicked_a", "clicked_b", "purchased_a", "purchased_b"] as const satisfies ReadonlyArray<
  keyof Credits
>
/** Answers of one variant on one day, or with about the same latency (`bucketOf`). */
interface Answers {
  readonly variant: number
  /** The day (ms), or the bucket. */ readonly at: number
  count: number
}
/** Each is also a dimension by which the split is checked. */
export const DIMENSIONS = ["device", "country", "surface"] as const
export type Dimension = (typeof DIMENSIONS)[number]

const laterOf = (a: string, b: string): string =>
  a === b || b === "" ? a : a === "" || Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? b : a
const countOne = (answers: Map<number, Answers>, place: number, variant: number, at: number): void => {
  const known = answers.get(place)
  if (known === undefined) answers.set(place, { variant, at, count: 1 })
  else known.count++
}
/** Changes of one run of one experiment. */
export class RunChange {
  readonly organizationId: string
  readonly id: string
  readonly run: number
  readonly units = new Map<number, UnitChange>()
  readonly exposures = new Map<number, Answers>()
  readonly latencies = new Map<number, Answers>()

  constructor(organizationId: string, { id, run }: Pick<ServedExposure, "id" | "run">) {
    this.organizationId = organizationId
    this.id = id
    this.run = run
  }
  of(unit: number): UnitChange {
    let change = this.units.get(unit)
    if (change === undefined) {
      const split = { device: "", country: "", surface: "" }
      const credits = { clicked_a: 0, clicked_b: 0, purchased_a: 0, purchased_b: 0 }
      change = { unit, variants: 0, firstDay: Infinity, split, credits, ...noFigures() }
      this.units.set(unit, change)
    }
    return change
  }
  exposed({ took_us, variant }: ServedExposure, day: number): void {
    countOne(this.exposures, (day / DAY_MS) * VARIANTS_MAX + variant, variant, day)
    if (took_us === undefined) return
    const bucket = bucketOf(took_us)
    countOne(this.latencies, bucket * VARIANTS_MAX + variant, variant, bucket)
  }
}

/** Maximum number of variants of an experiment. */
const VARIANTS_MAX = 8
/** Fingerprint of the id by which the variant was assigned; ids of different kinds have different fingerprints. */
const unitOf = ({ unit }: ServedExposure, { who }: SearchFacts): number =>
  unit === "user" ? who[0] : unit === "anonymous" ? who[1] : who[2]

export class ExperimentFacts implements FactSink {
  readonly histories = new Histories()
  readonly #runs = new Map<string, Map<string, RunChange>>()
  #size = 0

  /** Number of changed units, and of days of users. */
  get size(): number {
    return this.#size + this.histories.size
  }
  get runs(): ReadonlyArray<RunChange> {
    return [...this.#runs.values()].flatMap((runs) => [...runs.values()])
  }
  /** Undefined if the id that the variant was assigned by cannot be stored as text; the search is then dropped. */
  #changeOf(organizationId: string, exposure: ServedExposure, search: SearchFacts): UnitChange | undefined {
    const id = unitOf(exposure, search)
    if (id === 0) return undefined
    const change = this.#runOf(organizationId, exposure)
    const known = change.units.size
    const unit = change.of(id)
    this.#size += change.units.size - known
    return unit
  }
  #runOf(organizationId: string, exposure: ServedExposure): RunChange {
    const name = `${exposure.id}/${exposure.run}`
    let runs = this.#runs.get(organizationId)
    if (runs === undefined) this.#runs.set(organizationId, (runs = new Map()))
    let run = runs.get(name)
    if (run === undefined) runs.set(name, (run = new RunChange(organizationId, exposure)))
    return run
  }

  answer({ at, organization_id }: ServedSearch, search: SearchFacts): void {
    const { exposure } = search
    if (exposure === undefined || exposure.variant >= VARIANTS_MAX) return
    const day = Math.floor(at / DAY_MS) * DAY_MS
    const unit = this.#changeOf(organization_id, exposure, search)
    if (unit === undefined) return
    unit.variants |= 1 << exposure.variant
    unit.firstDay = Math.min(unit.firstDay, day)
    for (const dimension of DIMENSIONS) unit.split[dimension] = laterOf(unit.split[dimension], search[dimension])
    this.#runOf(organization_id, exposure).exposed(exposure, day)
  }
  search({ key }: Subject, search: SearchFacts, sign: Sign): void {
    const day = this.histories.of(key[0]!, search)
    if (day !== undefined) addSearch(day, search, sign)
    const unit = search.exposure && this.#changeOf(key[0]!, search.exposure, search)
    if (unit !== undefined) addSearch(unit, search, sign)
  }
  converted({ key }: Subject, search: SearchFacts, kind: "click" | "purchase", sign: Sign): void {
    const day = this.histories.of(key[0]!, search)
    if (day !== undefined) addConverted(day, kind, sign)
    const unit = search.exposure && this.#changeOf(key[0]!, search.exposure, search)
    if (unit !== undefined) addConverted(unit, kind, sign)
  }
  interaction({ key }: Subject, interaction: Interaction, sign: Sign, search: SearchFacts): void {
    const { exposure } = search
    if (exposure?.teams !== undefined && interaction.kind !== "add_to_cart")
      this.#credit(key[0]!, search, exposure, interaction, sign)
    if (interaction.kind !== "purchase") return
    const day = this.histories.of(key[0]!, search)
    if (day !== undefined) addRevenue(day, interaction, sign)
    const unit = exposure && this.#changeOf(key[0]!, exposure, search)
    if (unit !== undefined) addRevenue(unit, interaction, sign)
  }
  #credit(
    organizationId: string,
    search: SearchFacts,
    exposure: ServedExposure,
    { documents, kind }: Interaction,
    sign: Sign
  ): void {
    const unit = this.#changeOf(organizationId, exposure, search)
    if (unit === undefined) return
    const { credits } = unit
    for (const document of documents) {
      const isClick = kind === "click"
      if (exposure.teams!.a.includes(document)) credits[isClick ? "clicked_a" : "purchased_a"] += sign
      else if (exposure.teams!.b.includes(document)) credits[isClick ? "clicked_b" : "purchased_b"] += sign
    }
  }
}
