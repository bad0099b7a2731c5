/** Shared by both kinds of published rules: the engine, the stored rules, and writes that fail with a message. */
import type { WriteOperation } from "@dowser/engine-sdk"
import { Effect } from "effect"
import type { makeContexts } from "../engine-plane/engine-plane.ts"
import type { Engine } from "../ports/engine/engine.ts"
import type { makeRulesRepository } from "./rules-repository.ts"

export const DOCUMENTS_PER_WRITE = 250

export interface Publishing {
  readonly engine: Engine["Service"]
  readonly repository: Effect.Success<typeof makeRulesRepository>
  readonly contextOf: Effect.Success<typeof makeContexts>
}

export const chunks = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / DOCUMENTS_PER_WRITE) }, (_, i) =>
    all.slice(i * DOCUMENTS_PER_WRITE, (i + 1) * DOCUMENTS_PER_WRITE)
  )

/** Returns a result for each operation. */
export const write = Effect.fnUntraced(function* (
  { contextOf, engine }: Publishing,
  organizationId: string,
  collection: string,
  operations: ReadonlyArray<WriteOperation>
) {
  const answer = yield* Effect.promise(() =>
    engine.write(organizationId, collection, operations, { keeps: contextOf(organizationId).keeps })
  )
  return answer.ok ? answer.value : yield* Effect.fail({ message: answer.error.message })
})
