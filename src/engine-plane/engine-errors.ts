/** The refusals of engine operations, for contracts and for the compiler. */
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

/** For an operation that calls the engine; `statuses` are the engine's own refusals besides 400. */
export const engineErrors = (...statuses: ReadonlyArray<404 | 409>) =>
  [engineRefusal(400, ...statuses), FeatureNotInPlan, EngineUnavailable, EngineOverloaded] as const

/** The engine's errors as callers see them, for requests without a time limit. */
export type EngineFailure =
  | ErrorsOf<ReturnType<typeof engineErrors>>
  | CollectionNotAllowed
  | RestrictionNotApplicable
  | OrganizationUnavailable
/** The same for operations that may write resources. */
export type EngineWriteFailure = EngineFailure | ConfigurationUnavailable
