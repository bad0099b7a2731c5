/**
 * The step that personalizes a search: after the engine and reranking, before diversity. If it does not apply, the
 * answer passes unchanged, byte for byte: with a strength of 0, a visitor without history, a key that forbids it,
 * groups, and sorts other than by relevance.
 */
import { fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import type { PlannedSearch } from "@dowser/engine-sdk/operations"
import { covers, type Parameters } from "@dowser/engine-sdk/query"
import { Clock, Context, Effect, Layer } from "effect"
import { CatalogResources } from "../engine-plane/resources.ts"
import type { Caller } from "../identity/caller.ts"
import { tasteFieldsOf } from "./affinities.ts"
import { affinityStage } from "./affinity-stage.ts"
import { Histories, type Visiting } from "./histories.ts"
import { type Context as TasteContext, Tastes } from "./tastes.ts"

/** `x_personalization_strength`, 0 if absent; Invalid if it is not a number from 0 to 1. */
export const strengthOf = ({ x_personalization_strength: stated = "" }: Parameters): Result<number> => {
  const text = stated.trim()
  if (text === "") return ok(0)
  const strength = /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN
  return strength >= 0 && strength <= 1
    ? ok(strength)
    : fail(
        invalid("Parameter `x_personalization_strength` must be a number from 0 to 1.", "x_personalization_strength")
      )
}

/** A visitor's history must not affect searches with such a key. */
export const isImpersonal = ({ embedded, key }: Pick<Caller, "embedded" | "key">): boolean =>
  key.personalization === false || embedded?.personalization === false || embedded?.personalization === "false"

const RELEVANCE = /^\s*(_text_match|_vector_distance|_rank_fusion)\b/
/** Whether it sorts by relevance first, however ties are broken. */
const isByRelevance = ({ sort_by = "" }: Parameters): boolean => sort_by.trim() === "" || RELEVANCE.test(sort_by)

/** The strength that applies to a search; 0 if none does. Invalid ones were refused before. */
export const actingStrength = (
  caller: Pick<Caller, "embedded" | "key">,
  { parameters, plan }: Pick<PlannedSearch, "parameters" | "plan">
): number => {
  const strength = strengthOf(parameters)
  if (!strength.ok || strength.value === 0 || plan.group !== undefined || isImpersonal(caller)) return 0
  return isByRelevance(parameters) ? strength.value : 0
}

interface Personal {
  readonly organizationId: string
  readonly visiting: Visiting
  readonly context: TasteContext
  /** Above 0. */ readonly strength: number
}

export class Personalization extends Context.Service<
  Personalization,
  {
    /**
     * The search with the stage of its visitor's history; unchanged if there is none. One row of Postgres and at most
     * one call of the engine, both cached for a moment.
     */
    readonly personalized: (search: PlannedSearch, personal: Personal) => Promise<PlannedSearch>
    readonly tastes: Tastes
  }
>()("dowser/personalization/Personalization") {
  static readonly layer: Layer.Layer<Personalization, never, CatalogResources | Histories> = Layer.effect(
    Personalization,
    Effect.gen(function* () {
      const histories = yield* Histories
      const resources = yield* CatalogResources
      const clock = yield* Clock.Clock
      const services = yield* Effect.context<never>()
      const tastes = new Tastes(() => clock.currentTimeMillisUnsafe())
      /** The names by which events may refer to the collection: its own and its aliases. */
      const namesOf = (organizationId: string, collection: string): ReadonlyArray<string> => [
        collection,
        ...resources
          .list(organizationId, "alias")
          .filter(({ collection_name }) => collection_name === collection)
          .map(({ name }) => name)
      ]
      return Personalization.of({
        tastes,
        personalized: async (search, { context, organizationId, strength, visiting }) => {
          const { collection, fields: seen, merchandise } = search
          const names = namesOf(organizationId, collection.schema.name)
          const takes = await Effect.runPromiseWith(services)(histories.of(organizationId, visiting, names))
          const fields = tasteFieldsOf(collection, (field) => seen === undefined || covers(seen, field))
          const affinities = await tastes.affinities(context, collection, fields, takes)
          if (affinities.length === 0) return search
          const stages = [affinityStage(affinities, strength)]
          const own = merchandise ?? { rules: undefined, request: { now_ms: 0 }, explain: false }
          return { ...search, merchandise: { ...own, stages } }
        }
      })
    })
  )
}
