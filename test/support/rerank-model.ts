/** A trained model in the form that training produces, for tests that only need one to exist. */
import { Effect } from "effect"
import { Rerankers } from "../../src/rerankers/rerankers.ts"
import type { Program } from "./program.ts"

export const storeModel = (program: Program, organization_id: string, collection: string, name: string) =>
  program.run(
    Effect.flatMap(Rerankers, (rerankers) =>
      rerankers.store({
        organization_id,
        collection,
        name,
        fields: ["title"],
        weights: { rank: 1 },
        metrics: {
          clicked_searches: 50,
          queries_trained: 8,
          queries_held_out: 5,
          ndcg_at_10: { before: 0.5, after: 0.6, difference: 0.1, low: 0.05, high: 0.15 }
        },
        from: 0,
        to: 1
      })
    )
  )
