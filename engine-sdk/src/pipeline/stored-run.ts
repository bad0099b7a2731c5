/**
 * A run that can be replayed: clock readings, engine answers and results of asynchronous stages, in the order in which
 * they arrived. With the same searches and rules a replay yields the same trace, byte for byte, because everything else
 * in a run is a function of its inputs. Of documents, only the fields that stages may read are stored.
 */
import type { Awaitable, SearchEngine } from "../engine.ts"
import type { EngineError, Result } from "../errors.ts"
import type { FieldValue, Hit, HitWindow, SearchAnswer, UnionAnswer, VectorQuery } from "../plan.ts"
import { after } from "./awaitable.ts"
import type { MerchandiseEnvironment } from "./merchandising.ts"
import type { StageResult } from "./stage-result.ts"
import type { Tape } from "./tape.ts"

interface StoredWindow {
  readonly organic: ReadonlyArray<Hit>
  readonly ids: ReadonlyArray<string>
  readonly injected: HitWindow["injected"]
  readonly values: ReadonlyArray<Readonly<Record<string, FieldValue>>>
}
type StoredAnswer<Answer> = Result<Omit<Answer, "window"> & { readonly window?: StoredWindow }, EngineError>
/** Clock readings and stage results of one search of a run. */
interface StoredSearch {
  readonly readings_us: ReadonlyArray<number>
  /** By stage number; only stages that were awaited. */ readonly stages: Readonly<Record<number, StageResult>>
}
export interface StoredRun {
  readonly searches: Readonly<Record<number, StoredSearch>>
  /** Engine calls in order. */ readonly calls: ReadonlyArray<ReadonlyArray<StoredAnswer<SearchAnswer>>>
  readonly unions: ReadonlyArray<StoredAnswer<UnionAnswer>>
  readonly popular: ReadonlyArray<ReadonlyArray<string>>
  /** Absent if there was no model to query. */ readonly recommended?: ReadonlyArray<ReadonlyArray<string>>
  /** null: there was nothing to search by. */ readonly meanings?: ReadonlyArray<VectorQuery | null>
}

/** Wraps a function so that each answer is also stored in `list`. */
const kept =
  <Asked extends ReadonlyArray<any>, A, Stored>(
    ask: (...asked: Asked) => Awaitable<A>,
    list: Stored[],
    storedAs: (answer: A) => Stored
  ) =>
  (...asked: Asked): Awaitable<A> =>
    after(ask(...asked), (answer) => {
      list.push(storedAs(answer))
      return answer
    })

/**
 * An environment that behaves like the given one and records everything; call `stored` once the run is done.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { merchandise, recordRun, storedRunText } from "@dowser/engine-sdk/pipeline"
 * import { suitePlan } from "@dowser/engine-sdk/testing"
 *
 * const engine = createEngine()
 * const environment = { engine, namespace: "default", now_us: () => performance.now() * 1_000 }
 * const search = { plan: suitePlan("products"), rules: undefined, request: { q: "shoe", now_ms: Date.now() } }
 * const { environment: recorded, stored } = recordRun(environment)
 * await merchandise(recorded, [search])
 * storedRunText(stored())
 * ```
 */
export const recordRun = (
  environment: MerchandiseEnvironment
): { readonly environment: MerchandiseEnvironment; readonly stored: () => StoredRun } => {
  const searches: Record<number, { readings_us: number[]; stages: Record<number, StageResult> }> = {}
  const calls: Array<StoredRun["calls"][number]> = [],
    unions: Array<StoredRun["unions"][number]> = [],
    popular: Array<ReadonlyArray<string>> = [],
    recommended: Array<ReadonlyArray<string>> = [],
    meanings: Array<VectorQuery | null> = []
  const tape: Tape = {
    search: (number) => {
      const own = (searches[number] ??= { readings_us: [], stages: {} })
      return {
        now_us: () => {
          const reading = environment.now_us()
          own.readings_us.push(reading)
          return reading
        },
        replayed: () => undefined,
        record: (stage, result) => (own.stages[stage] = result),
        mark: () => own.readings_us.length,
        forget: (mark) => {
          own.readings_us.length = mark
        },
        untaped: environment.now_us
      }
    }
  }
  const { engine } = environment
  const recorded: MerchandiseEnvironment["engine"] = {
    capabilities: () => engine.capabilities(),
    describeCollection: (namespace, name) => engine.describeCollection(namespace, name),
    search: (namespace, plans) =>
      after(engine.search(namespace, plans), (answers) => {
        calls.push(answers.map((answer, i) => storedAnswer(answer, plans[i].window?.fields ?? [])))
        return answers
      }),
    union: (namespace, plan) =>
      after(engine.union(namespace, plan), (answer) => {
        unions.push(storedAnswer(answer, plan.window?.fields ?? []))
        return answer
      })
  }
  const { meaning: askMeaning, popular: askPopular, recommended: askRecommended } = environment
  return {
    environment: {
      ...environment,
      engine: recorded,
      tape,
      ...(askPopular === undefined ? {} : { popular: kept(askPopular, popular, (ids) => ids) }),
      ...(askRecommended === undefined ? {} : { recommended: kept(askRecommended, recommended, (ids) => ids) }),
      ...(askMeaning === undefined ? {} : { meaning: kept(askMeaning, meanings, (vector) => vector ?? null) })
    },
    stored: () => ({
      searches,
      calls,
      unions,
      popular,
      ...(askRecommended === undefined ? {} : { recommended }),
      ...(askMeaning === undefined ? {} : { meanings })
    })
  }
}

/**
 * An environment that answers from a stored run. Schemas, which are inputs, are read through `describe`.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { merchandise, recordRun, replayRun } from "@dowser/engine-sdk/pipeline"
 * import { suitePlan } from "@dowser/engine-sdk/testing"
 *
 * const engine = createEngine()
 * const environment = { engine, namespace: "default", now_us: () => performance.now() * 1_000 }
 * const search = { plan: suitePlan("products"), rules: undefined, request: { q: "shoe", now_ms: Date.now() } }
 * const run = recordRun(environment)
 * const first = await merchandise(run.environment, [search])
 * const again = await merchandise(replayRun(run.stored(), { engine, namespace: "default" }), [search]) // the same
 * ```
 */
export const replayRun = (
  stored: StoredRun,
  inputs: Pick<MerchandiseEnvironment, "namespace" | "explain" | "reranker"> & {
    readonly engine: Pick<SearchEngine, "capabilities" | "describeCollection">
  }
): MerchandiseEnvironment => {
  const calls = [...stored.calls],
    unions = [...stored.unions],
    popular = [...stored.popular],
    recommended = [...(stored.recommended ?? [])],
    meanings = [...(stored.meanings ?? [])]
  const next = <A>(list: A[], what: string): A => {
    const first = list.shift()
    if (first === undefined)
      throw new Error(`The stored run holds no more ${what}: it belongs to other searches or rules.`)
    return first
  }
  const tape: Tape = {
    search: (number) => {
      const own = stored.searches[number] ?? { readings_us: [], stages: {} }
      let at = 0
      const now_us = (): number => {
        if (at === own.readings_us.length)
          throw new Error("The stored run holds no more readings of the clock: it belongs to other searches or rules.")
        return own.readings_us[at++]
      }
      return {
        now_us,
        replayed: (stage) => own.stages[stage],
        record: (_stage, result) => result,
        mark: () => at,
        forget: () => {},
        untaped: () => 0
      }
    }
  }
  return {
    ...inputs,
    tape,
    now_us: () => 0,
    engine: {
      capabilities: () => inputs.engine.capabilities(),
      describeCollection: (namespace, name) => inputs.engine.describeCollection(namespace, name),
      search: (): Awaitable<ReadonlyArray<Result<SearchAnswer>>> =>
        next(calls, "answers").map((answer) => replayedAnswer<SearchAnswer>(answer)),
      union: () => replayedAnswer<UnionAnswer>(next(unions, "unions"))
    },
    popular: () => next(popular, "popular documents"),
    ...(stored.recommended === undefined ? {} : { recommended: () => next(recommended, "recommended documents") }),
    ...(stored.meanings === undefined ? {} : { meaning: () => next(meanings, "meanings") ?? undefined })
  }
}

const storedAnswer = <Answer extends { readonly window?: HitWindow; readonly hits?: ReadonlyArray<Hit> }>(
  answer: Result<Answer>,
  fields: ReadonlyArray<string>
): StoredAnswer<Answer> => {
  if (!answer.ok) return answer
  const { window, ...rest } = answer.value
  const value = { ...rest, ...(rest.hits === undefined ? {} : { hits: rest.hits.map(storedHit) }) } as unknown as Omit<
    Answer,
    "window"
  >
  if (window === undefined) return { ok: true, value }
  const values = window.organic.map((_hit, i) =>
    Object.fromEntries(
      fields.flatMap((field) => {
        const found = window.value(i, field)
        return found === undefined ? [] : [[field, found]]
      })
    )
  )
  return {
    ok: true,
    value: {
      ...value,
      window: {
        organic: window.organic.map(storedHit),
        ids: window.ids,
        injected: window.injected.map((one) => ({ ...one, hit: storedHit(one.hit) })),
        values
      }
    }
  }
}
/** A hit without the parts that only the reader of the answer needs. */
const storedHit = (hit: Hit): Hit => ({ ...hit, document: { id: hit.document.id }, highlight: {}, highlights: [] })
const replayedAnswer = <Answer>(answer: StoredAnswer<Answer>): Result<Answer> => {
  if (!answer.ok) return answer
  const { window, ...rest } = answer.value as Record<string, unknown> & { readonly window?: StoredWindow }
  // Copied, because hits are modified on their way and a run may be replayed more than once.
  const hits = Array.isArray(rest.hits) ? { hits: rest.hits.map((hit: Hit) => ({ ...hit })) } : {}
  const replayedWindow =
    window === undefined
      ? {}
      : {
          window: {
            organic: window.organic.map((hit) => ({ ...hit })),
            ids: window.ids,
            injected: window.injected.map((one) => ({ ...one, hit: { ...one.hit } })),
            value: (i: number, field: string) => window.values[i][field],
            keep: () => {}
          }
        }
  return { ok: true, value: { ...rest, ...hits, ...replayedWindow } as Answer }
}

/**
 * JSON text of a stored run; vectors and 64-bit scores keep their exact values.
 *
 * @example
 * ```ts
 * import { storedRunText } from "@dowser/engine-sdk/pipeline"
 *
 * storedRunText({ searches: {}, calls: [], unions: [], popular: [] })
 * ```
 */
export const storedRunText = (run: StoredRun): string =>
  JSON.stringify(run, (_key, value: unknown) =>
    typeof value === "bigint"
      ? { $integer: value.toString() }
      : value instanceof Float32Array
        ? { $vector: [...value] }
        : value
  )
/**
 * Parses a stored run from its JSON text, as `storedRunText` wrote it.
 *
 * @example
 * ```ts
 * import { parseStoredRun } from "@dowser/engine-sdk/pipeline"
 *
 * const stored = parseStoredRun('{"searches": {}, "calls": [], "unions": [], "popular": []}')
 * ```
 */
export const parseStoredRun = (text: string): StoredRun =>
  JSON.parse(text, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null) return value
    if ("$integer" in value) return BigInt(String(value.$integer))
    return "$vector" in value ? Float32Array.from(value.$vector as ReadonlyArray<number>) : value
  }) as StoredRun
