/** Finds units by device, country or surface that cause a split which does not match the weights. Pure. */
import { SAMPLE_RATIO_ALPHA, sampleRatioP } from "@dowser/engine-sdk/experiments"
import type { Definition } from "./definition.ts"
import type { SplitRow } from "./runs-repository.ts"
import type { ExperimentResults } from "./schema.ts"

/** Alarming parts are listed up to `ALARMS_MAX`, other parts only among the first `SHOWN_MIN`. */
const ALARMS_MAX = 20
const SHOWN_MIN = 5

type Part = NonNullable<(typeof ExperimentResults.Type)["srm"]["by"]>[number]

export const splitsOf = ({ variants }: Definition, rows: ReadonlyArray<SplitRow>): ReadonlyArray<Part> => {
  const groups = Map.groupBy(rows, ({ dimension, value }) => `${dimension} ${value}`)
  const parts = [...groups.values()].map((group): Part => {
    const { dimension, value } = group[0]!
    const units = variants.map((_, i) => group.find(({ variant }) => variant === i)?.units ?? 0)
    const p_value = sampleRatioP(
      units,
      variants.map(({ weight }) => weight)
    )
    return { dimension, value: value === "" ? null : value, units, p_value, ok: p_value >= SAMPLE_RATIO_ALPHA }
  })
  const sum = ({ units }: Part) => units.reduce((a, b) => a + b, 0)
  parts.sort((a, b) => a.p_value - b.p_value || sum(b) - sum(a))
  return parts.filter(({ ok }, i) => (ok ? i < SHOWN_MIN : i < ALARMS_MAX))
}
