/** What operations of the engine refuse, as their contracts declare it and as the compiler knows it. */
import type { ErrorsOf } from "../http/declared.ts"
import {
  type CollectionNotAllowed,
  type ConfigurationUnavailable,
  EngineOverloaded,
  engineRefusal,
  EngineUnavailable,
  type OrganizationUnavailable,
  type RestrictionNotApplicable
} from "../http/errors.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"

/** Of an operation that asks the engine; `statuses`: those of the engine's own refusals beside 400. */
export const engineErrors = (...statuses: ReadonlyArray<404 | 409>) =>
  [engineRefusal(400, ...statuses), FeatureNotInPlan, EngineUnavailable, EngineOverloaded] as const

/** What the engine's errors are to callers, where no time is set. */
export type EngineFailure =
  | ErrorsOf<ReturnType<typeof engineErrors>>
  | CollectionNotAllowed
  | RestrictionNotApplicable
  | OrganizationUnavailable
/** The same of operations that may write resources. */
export type EngineWriteFailure = EngineFailure | ConfigurationUnavailable
