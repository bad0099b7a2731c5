/** What the answered query contains: its words, its language, and values of facet fields that it names. */
import { analyzerOf } from "@dowser/engine-sdk/analysis"
import type { Awaitable } from "@dowser/engine-sdk"
import type { OperationContext, PlannedSearch, Reach, SearchRequest } from "@dowser/engine-sdk/operations"
import { fieldNamed } from "@dowser/engine-sdk/query"
import type { Entity } from "@dowser/engine-sdk/understanding"
import { Clock, Context, Effect, Layer } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { Caller } from "../identity/caller.ts"
import { CurrentChanges } from "../ports/engine/engine.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import { EntityIndexes, facetFieldsOf } from "./entity-indexes.ts"
import { languageOf } from "./language.ts"
import { visibleEntities } from "./visible-entities.ts"
import { wordsOf } from "./words-of.ts"

export interface Understood {
  /** In the form in which they are looked up. */ readonly tokens: ReadonlyArray<string>
  readonly language?: string
  readonly entities: ReadonlyArray<Entity>
}
interface AskedQuery {
  readonly caller: Parameters<typeof seesWhole>[0] & Pick<Caller, "organizationId">
  readonly context: OperationContext
  readonly reach: Reach
  readonly search: Pick<PlannedSearch, "collection" | "plan">
  readonly q: string
  /** Searches left to the request for checking what a restricted caller may see. */ readonly looks: { left: number }
  /** Deadline of the request, in the time of `performance.now()`. */ readonly until: number
  /** Facet fields whose values are recognized. Default: the collection's. */ readonly fields?: ReadonlyArray<string>
  /** Filters on everything that is shown, in addition to the caller's own restrictions. */
  readonly bounds?: SearchRequest["bounds"]
}
/** Limits of a query; the rest of a longer one is not shown. */
const TOKENS_MAX = 100
const CHARACTERS_MAX = 2_000
/** The longest wait, also relative to the remaining time of the request. */
const FIRST_WAIT_MS = 3_000,
  WAIT_SHARE = 10

export class Understanding extends Context.Service<
  Understanding,
  {
    /**
     * From memory, except for a collection's first search, and for restricted callers, whose entities are checked by
     * searches. Never fails: what cannot be determined is omitted.
     */
    readonly of: (asked: AskedQuery) => Awaitable<Understood>
    /** Memory of all indexes of values. */ readonly bytes: () => number
  }
>()("dowser/understanding/Understanding") {
  static readonly layer = Layer.effect(
    Understanding,
    Effect.gen(function* () {
      const services = yield* Effect.context<never>()
      const clock = yield* Clock.Clock
      const indexes = new EntityIndexes({
        contextOf: yield* makeContexts,
        changesOf: yield* CurrentChanges,
        now_ms: () => clock.currentTimeMillisUnsafe(),
        inSlices: (steps) => Effect.runPromiseWith(services)(inSlices(steps)),
        failed: (why) =>
          Effect.runSyncWith(services)(
            Effect.logError("Facet values could not be read; using the previous ones, or none", why)
          )
      })
      const failed = (why: unknown): undefined =>
        void Effect.runSyncWith(services)(
          Effect.logError("The library that detects languages could not be loaded", why)
        )
      return Understanding.of({ of: (asked) => understood(indexes, asked, failed), bytes: () => indexes.bytes })
    })
  )
}

/** `failed`: called with the reason why the language library could not be loaded. */
export const understood = (
  indexes: EntityIndexes,
  asked: AskedQuery,
  failed: (why: unknown) => undefined
): Awaitable<Understood> => {
  const { bounds, caller, context, fields, reach, search } = asked
  const { collection, plan } = search
  const q = asked.q.slice(0, CHARACTERS_MAX)
  const field = plan.text === undefined ? undefined : fieldNamed(collection.schema, plan.text.fields[0]!.field)
  const common = wordsOf(collection.schema)
  const own = field === undefined ? common : analyzerOf(collection.schema, field).unstemmed
  const tokens = own.tokenize(q).slice(0, TOKENS_MAX)
  const language = languageOf(q, tokens, field?.locale.slice(0, 2))
  const index = indexes.of(caller.organizationId, collection)
  if (index === undefined && !(language instanceof Promise)) return made(tokens, language, [])
  const isCommon = field?.locale === "" && field.symbols_to_index.length + field.token_separators.length === 0
  const words = isCommon ? tokens : common.tokenize(q)
  const asking = {
    context,
    reach,
    collection,
    bounds,
    seesWhole: seesWhole(caller) && bounds === undefined,
    looks: asked.looks,
    fields: fields ?? facetFieldsOf(collection)
  }
  if (!(index instanceof Promise) && !(language instanceof Promise)) {
    const entities = visibleEntities(asking, index!, words)
    return entities instanceof Promise
      ? entities.then((late) => made(tokens, language, late))
      : made(tokens, language, entities)
  }
  return (async () => {
    // A short remaining time is not spent on what only the first search waits for.
    const most_ms = Math.min(FIRST_WAIT_MS, (asked.until - performance.now()) / WAIT_SHARE)
    const [known, detected] = await Promise.all([
      index instanceof Promise ? soon(index, most_ms) : index,
      language instanceof Promise ? soon(language.catch(failed), most_ms) : language
    ])
    return made(tokens, detected, known === undefined ? [] : await visibleEntities(asking, known, words))
  })()
}
/** A collection's first search waits briefly for its values, that of a process for its library. */
const soon = <A>(coming: Promise<A>, most_ms: number): Promise<A | undefined> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((settle) => {
    timer = setTimeout(() => settle(undefined), most_ms)
  })
  return Promise.race([coming, late]).finally(() => clearTimeout(timer))
}
const made = (
  tokens: ReadonlyArray<string>,
  language: string | undefined,
  entities: ReadonlyArray<Entity>
): Understood => ({ tokens, ...(language === undefined ? {} : { language }), entities })
