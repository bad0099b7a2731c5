/**
 * The step of a search that applies an experiment: whether the search takes part, which variant its unit sees, and
 * how that changes the request. Pure. Cost: one look-up if nothing runs, otherwise one or two hashes of the unit.
 */
import { shareOf, variantOf } from "@dowser/engine-sdk/experiments"
import { type EngineError, fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import type { Parameters } from "@dowser/engine-sdk/query"
import type { ServedExposure } from "@dowser/log/event-schema"
import type { RunningExperiment, RunningVariant } from "./running-experiments.ts"

/** The facts about a search that an experiment needs. */
interface AskedOfExperiment {
  /** The preset named in the request. */ readonly preset: string | undefined
  /** The profile in effect. */ readonly profile: string | undefined
  readonly sessionId: string | undefined
  readonly parameters: Parameters
  /** Whether the caller may choose the variant. */ readonly mayForce: boolean
}
/** How an experiment affects a search. */
export interface Shown {
  readonly experiment: RunningExperiment
  readonly variant: RunningVariant
  /** The reported exposure; undefined for a forced variant. */ readonly exposure: ServedExposure | undefined
  /** The ranking to be merged with the variant's, and the seed of the coin tosses. */ readonly against?: Against
  /** Whether they were merged; otherwise the response is the control's, and not counted. */ readonly isMerged?: boolean
}
interface Against {
  readonly variant: RunningVariant
  readonly seed: string
}

const IDENTIFIER_CHARACTERS_MAX = 256
const some = (id: string | undefined): string | undefined =>
  id === undefined || id === "" ? undefined : id.slice(0, IDENTIFIER_CHARACTERS_MAX)

interface Unit {
  readonly kind: ServedExposure["unit"]
  readonly id: string
}
/** The unit that a variant is drawn for; undefined for an anonymous search, which does not take part. */
export const unitOf = (
  { unit }: Pick<RunningExperiment, "unit">,
  { parameters, sessionId }: Pick<AskedOfExperiment, "parameters" | "sessionId">
): Unit | undefined => {
  if (unit === "user") {
    const user = some(parameters.x_user_id)
    return user === undefined ? undefined : { kind: "user", id: user }
  }
  const session = some(sessionId)
  if (session !== undefined) return { kind: "session", id: session }
  const anonymous = some(parameters.x_anonymous_id)
  return anonymous === undefined ? undefined : { kind: "anonymous", id: anonymous }
}

/**
 * Number of different coin sequences for merging lists: few enough that responses can be cached, many enough that
 * neither ranking is first everywhere.
 */
const DRAFTS = 64
/** Always the same for one unit, so that a returning visitor sees an unchanged list. */
export const draftOf = ({ seeds }: Pick<RunningExperiment, "seeds">, unit: string): number =>
  Math.floor(shareOf(seeds.variant, unit) * DRAFTS)

const takesPart = ({ target }: RunningExperiment, { preset, profile }: AskedOfExperiment): boolean =>
  target === undefined || ("preset" in target ? target.preset === preset : target.profile === profile)

/**
 * The variant that the search sees; undefined if it takes part in no experiment. Fails for a forced variant that does
 * not exist.
 */
export const shownBy = (
  running: ReadonlyArray<RunningExperiment>,
  asked: AskedOfExperiment
): Result<Shown | undefined, EngineError> => {
  const experiment = running.find((one) => takesPart(one, asked))
  if (experiment === undefined) return ok(undefined)
  const { x_experiment_variant: forced = "" } = asked.parameters
  if (forced !== "" && asked.mayForce) {
    const variant = experiment.variants.find(({ id }) => id === forced)
    return variant === undefined
      ? fail(
          invalid(
            `The experiment \`${experiment.id}\` has no variant \`${forced.slice(0, 80)}\`.`,
            "x_experiment_variant"
          )
        )
      : ok({ experiment, variant, exposure: undefined })
  }
  const unit = unitOf(experiment, asked)
  const index = unit === undefined ? undefined : variantOf(experiment, unit.id)
  if (unit === undefined || index === undefined) return ok(undefined)
  const { id, isInterleaved, run, variants } = experiment
  if (isInterleaved) {
    // The same for every participating unit, because no variant is drawn.
    const seed = `${experiment.seeds.variant}/${draftOf(experiment, unit.id)}/${asked.parameters.q ?? ""}`
    const exposure = { id, run, variant: 0, unit: unit.kind }
    return ok({ experiment, variant: variants[0]!, exposure, against: { variant: variants[1]!, seed } })
  }
  return ok({ experiment, variant: variants[index]!, exposure: { id, run, variant: index, unit: unit.kind } })
}

/** Overrides the search's parameters with the variant's, except those embedded in the key. */
export const withParams = (
  parameters: Parameters,
  params: Parameters,
  embedded: Readonly<Record<string, unknown>> | undefined
): Parameters => {
  const merged: Record<string, string> = { ...parameters }
  for (const name in params) if (embedded === undefined || !Object.hasOwn(embedded, name)) merged[name] = params[name]!
  return merged
}
