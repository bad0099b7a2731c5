/**
 * The job that suggests synonyms: visitors' searches come from the log, the collection's texts from the engine, and a
 * thread derives suggestions from both. They are written in the transaction that ends the job.
 */
import { createHash } from "node:crypto"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { makeClickedSearches } from "../clicks/clicked-searches.ts"
import { collectionNames } from "../clicks/collection-names.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { makeCollectionDocuments } from "../jobs/collection-documents.ts"
import { startedThread, threadAnswer } from "../jobs/job-thread.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { AiSpending, type JobReservation } from "../metering/ai-spending.ts"
import { textFieldsOf } from "../texts/text-fields.ts"
import { Reformulations } from "./finding/reformulations.ts"
import type { Suggestion } from "./finding/suggest.ts"
import type { ToFinder } from "./messages.ts"
import { makeSuggestionsRepository } from "./suggestions-repository.ts"

export const SUGGESTING = "synonym_suggestions"
/** The configuration of a job. */
interface SuggestingConfig extends Readonly<Record<string, unknown>> {
  /** The collection's real name. */ readonly collection: string
  /** Identifies the collection: one created later under the name is another one. */ readonly created_at: number
  /** Unix milliseconds. */ readonly from_at: number
  readonly before_at: number
  readonly reservation?: JobReservation
}
type ReportProgress = (progress: number) => Effect.Effect<void>

/** Texts of more documents add no information about words. */
const DOCUMENTS_MAX = 50_000
const FIELDS_MAX = 16
const HEAP_MB = 768
const TIME_MS = 15 * 60_000

const idOf = (collection: string, term: string): string =>
  `syn_${createHash("sha256").update(`${collection}\u0000${term}`).digest("hex").slice(0, 26)}`

/** What visitors searched, and what they searched instead. */
const makeSearched = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const read = yield* makeClickedSearches
  return Effect.fnUntraced(function* (
    organizationId: string,
    { before_at, collection, from_at }: SuggestingConfig,
    report: ReportProgress
  ) {
    const searched = new Reformulations()
    const collections = collectionNames(contextOf(organizationId), collection)
    yield* Effect.mapError(
      read(
        { organizationId, collections, from: from_at, before: before_at },
        (search) => searched.add(search),
        (done) => report(done / 3)
      ),
      ({ message }) => new JobFailed({ message: `The event log could not be read: ${message}` })
    )
    return searched
  })
})

export const makeFind = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const documents = yield* makeCollectionDocuments
  const spending = yield* AiSpending
  const repository = yield* makeSuggestionsRepository
  const searchedOf = yield* makeSearched
  const infoOf = (organizationId: string, { collection, created_at }: SuggestingConfig) => {
    const info = resolveCollection(contextOf(organizationId), collection)
    return info?.created_at === created_at ? info : undefined
  }

  const found = Effect.fnUntraced(function* ({ config, organizationId }: ClaimedJob, report: ReportProgress) {
    const asked = config as SuggestingConfig
    const info = infoOf(organizationId, asked)
    if (info === undefined) return yield* new JobFailed({ message: "The collection was deleted." })
    const { pairs, queries } = yield* searchedOf(organizationId, asked, report)
    const thread = yield* startedThread<ToFinder>(new URL("./finder-worker.ts", import.meta.url), HEAP_MB)
    const fields = textFieldsOf(info)
      .map(({ name }) => name)
      .slice(0, FIELDS_MAX)
    yield* threadAnswer(() => thread.ask({ kind: "begin", fields }))
    const total = Math.max(1, Math.min(DOCUMENTS_MAX, info.num_documents))
    yield* documents(
      { organizationId, collection: asked.collection, fields, documentsMax: DOCUMENTS_MAX },
      (lines, read) =>
        Effect.andThen(
          threadAnswer(() => thread.ask({ kind: "documents", lines: lines.join("\n") })),
          report(0.33 + 0.33 * Math.min(1, read / total))
        )
    )
    const suggestions = yield* threadAnswer(() =>
      thread.ask<ReadonlyArray<Suggestion>>({ kind: "find", queries, pairs })
    )
    return { suggestions, queries: queries.length }
  })
  return Effect.fn("SynonymSuggestions.find")(function* (
    job: ClaimedJob,
    report: ReportProgress
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { organizationId } = job
    const asked = job.config as SuggestingConfig
    const ended = spending.runJob(organizationId, "synonym_suggestions", asked.reservation, ({ settle }) =>
      Effect.gen(function* () {
        const { queries, suggestions } = yield* Effect.scoped(found(job, report))
        const created_at = yield* Clock.currentTimeMillis
        const rows = suggestions.map((suggestion) => ({
          ...suggestion,
          id: idOf(asked.collection, suggestion.term),
          created_at
        }))
        const alongside = Effect.gen(function* () {
          yield* repository.lock(organizationId, asked.collection)
          // If the collection was dropped meanwhile, so were its suggestions.
          if (infoOf(organizationId, asked) === undefined) return
          yield* repository.replaceNew(organizationId, asked.collection, rows)
          yield* settle(queries)
        })
        return { alongside, result: { queries, suggestions: rows.length } }
      })
    )
    return yield* Effect.mapError(
      Effect.timeoutOrElse(ended, {
        duration: TIME_MS,
        orElse: () => Effect.fail(new JobFailed({ message: "The suggestions took more than 15 minutes." }))
      }),
      (error) => (error instanceof JobFailed ? error : new JobFailed({ message: error.message }))
    )
  })
})
