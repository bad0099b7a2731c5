/** Requests a rebuild of an organization's models from every process, by a row that each polls with the tombstones. */
import { Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Rebuild } from "./live/life.ts"
import { makeRebuildsRepository } from "./rebuilds-repository.ts"

export class ModelRebuilds extends Context.Service<
  ModelRebuilds,
  {
    readonly ask: (rebuild: Rebuild) => Effect.Effect<void, SqlError.SqlError>
  }
>()("dowser/recommendation-models/ModelRebuilds") {
  static readonly layer: Layer.Layer<ModelRebuilds, never, SqlClient.SqlClient> = Layer.effect(
    ModelRebuilds,
    Effect.map(makeRebuildsRepository, ({ put }) => ModelRebuilds.of({ ask: (rebuild) => Effect.asVoid(put(rebuild)) }))
  )
}
