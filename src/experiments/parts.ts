/** Services and functions that every change of an experiment uses. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { Outbox } from "@dowser/log/outbox"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { makeNamedResources } from "../metering/named-resources.ts"
import { RecommendationModels } from "../recommendation-models/models.ts"
import { makeExperimentsRepository } from "./experiments-repository.ts"
import { makeRunsRepository } from "./runs-repository.ts"

export const present =
  (id: string) =>
  <A>(found: A | undefined): Effect.Effect<A, NotFound> =>
    found === undefined
      ? Effect.fail(new NotFound({ message: `Experiment ${id} does not exist.` }))
      : Effect.succeed(found)
export const refuse = (message: string) => Effect.fail(new Conflict({ message }))

export const makeParts = Effect.gen(function* () {
  const configuration = yield* Configuration
  const repository = yield* makeExperimentsRepository
  const changed = <A, E extends { readonly _tag: string }>(
    organizationId: string,
    id: string,
    change: Effect.Effect<A, E | SqlError.SqlError>
  ) => stored(configuration.write({ kind: "experiment", organizationId, id }, change))
  return {
    repository,
    changed,
    locked: (organizationId: string, id: string) => Effect.flatMap(repository.lock(organizationId, id), present(id)),
    runs: yield* makeRunsRepository,
    outbox: yield* Outbox,
    entitlements: yield* Entitlements,
    identifiers: yield* Identifiers,
    models: yield* RecommendationModels,
    named: yield* makeNamedResources
  }
})
export type ExperimentParts = Effect.Success<typeof makeParts>
