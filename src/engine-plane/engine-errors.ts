/** The refusals of engine operations, as their contracts declare them and as the compiler knows them. */
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

/** For an operation that asks the engine; `statuses` are the engine's own refusals beside 400. */
export const engineErrors = (...statuses: ReadonlyArray<404 | 409>) =>
  [engineRefusal(400, ...statuses), FeatureNotInPlan, EngineUnavailable, EngineOverloaded] as const

/** The engine's errors as callers see them, for requests without a time limit. */
export type EngineFailure =
  | ErrorsOf<ReturnType<typeof engineErrors>>
  | CollectionNotAllowed
  | RestrictionNotApplicable
  | OrganizationUnavailable
/** The same of operations that may write resources. */
export type EngineWriteFailure = EngineFailure | ConfigurationUnavailable
