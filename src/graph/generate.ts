/**
 * The job that builds a collection's graph: documents are sent to a thread in batches, the result is written as an
 * invisible generation, and the transaction that ends the job makes it visible. An interrupted job leaves only rows
 * that the next one removes.
 *
 * Decision: counted from scratch rather than incrementally. 100,000 documents take the thread some six seconds of
 * processor time; incremental counts would have to be stored for each collection and stay correct through every
 * crash; and credits are charged for a requested job.
 */
import { createHash } from "node:crypto"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { collectionNames } from "../clicks/collection-names.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { makeCollectionDocuments } from "../jobs/collection-documents.ts"
import { type JobThread, startedThread, threadAnswer } from "../jobs/job-thread.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { AiSpending, type JobReservation } from "../metering/ai-spending.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { makeBehaviour } from "./behaviour.ts"
import type { CommunityRow, EntityRow, KnownGraph } from "./building/build.ts"
import { DOCUMENTS_MAX } from "./building/entity-counts.ts"
import { entityFieldsOf, PRICE, sameWords } from "./entity-fields.ts"
import { makeCommunitiesRepository } from "./communities-repository.ts"
import { type GraphRow, makeGraphsRepository } from "./graphs-repository.ts"
import type { Rows, Summary, ToGraph } from "./messages.ts"

export const GENERATION = "graph_generation"
const ENTITIES_FEATURE = "graph_entities"
/** The config of a job. */
export interface GraphConfig extends Readonly<Record<string, unknown>> {
  /** The collection's own name, not an alias. */ readonly collection: string
  /** Identifies the collection: one created later is a different one. */ readonly created_at: number
  readonly part: "entities" | "communities"
  readonly reservation?: JobReservation
}
type ReportProgress = (progress: number) => Effect.Effect<void>
type Thread = JobThread<ToGraph>

/** Memory for counted documents and their texts; a graph of 100,000 takes a third. */
const HEAP_MB = 768
const TIME_MS = 15 * 60_000
/** Rows per statement. */
const ROWS = 250
/** Covers only what is shown, because the strength of relations changes with every document. */
const hashOf = (row: EntityRow | CommunityRow): string =>
  createHash("sha256")
    .update(JSON.stringify({ ...row, neighbours: undefined }))
    .digest("base64url")
    .slice(0, 27)

/** Whether the job's collection still exists. */
const makeIsThere = Effect.map(
  makeContexts,
  (contextOf) =>
    (organizationId: string, { collection, created_at }: GraphConfig) =>
      resolveCollection(contextOf(organizationId), collection)?.created_at === created_at
)

/** Sends the collection's documents to the thread. */
const makeFilled = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const documents = yield* makeCollectionDocuments
  return Effect.fnUntraced(function* (
    thread: Thread,
    organizationId: string,
    collection: string,
    report: ReportProgress
  ) {
    const context = contextOf(organizationId)
    const info = resolveCollection(context, collection)
    if (info === undefined) return yield* new JobFailed({ message: "The collection was deleted." })
    const fields = entityFieldsOf(info)
    const sets = info.schema.synonym_sets.flatMap(
      (name) => context.resources.get(organizationId, "synonym_set", name) ?? []
    )
    const same = sameWords(sets)
    yield* threadAnswer(() => thread.ask({ kind: "begin", fields, sameAs: same.sameAs }))
    const total = Math.max(1, info.num_documents)
    const asked = {
      organizationId,
      collection,
      fields: [...fields.facets, ...fields.texts, PRICE],
      documentsMax: DOCUMENTS_MAX
    }
    yield* documents(asked, (lines, read) =>
      Effect.andThen(
        threadAnswer(() => thread.ask({ kind: "documents", lines: lines.join("\n") })),
        report(0.7 * Math.min(1, read / total))
      )
    )
    return same.synonyms
  })
})

/** Writes the thread's result as an invisible generation. */
const makeWritten = Effect.gen(function* () {
  const repository = yield* makeGraphsRepository
  const communityRows = yield* makeCommunitiesRepository
  const rowsOf = <K extends "entities" | "communities">(thread: Thread, kind: K, from: number) =>
    threadAnswer(() => thread.ask<Rows<K>>({ kind, from, count: ROWS }))
  return Effect.fnUntraced(function* (
    thread: Thread,
    { id: generation, organizationId }: ClaimedJob,
    collection: string,
    before: GraphRow | undefined,
    { communities = 0, entities }: Summary
  ) {
    const now = yield* Clock.currentTimeMillis
    const own = { organizationId, collection, generation }
    const known =
      before === undefined
        ? new Map<string, never>()
        : yield* Effect.orDie(repository.dated({ organizationId, collection, generation: before.entity_generation }))
    for (let from = 0; from < entities; from += ROWS) {
      const rows = (yield* rowsOf(thread, "entities", from)).map((row) => {
        const hash = hashOf(row)
        const old = known.get(row.id)
        return {
          ...row,
          hash,
          created_at: old?.created_at ?? now,
          updated_at: old?.hash === hash ? old.updated_at : now
        }
      })
      yield* Effect.orDie(repository.putEntities(own, rows))
    }
    const knownCommunities =
      before === undefined || before.community_generation === null
        ? []
        : yield* Effect.orDie(
            communityRows.knownCommunities({ organizationId, collection, generation: before.community_generation })
          )
    const dated = new Map(knownCommunities.map((community) => [community.id, community]))
    for (let from = 0; from < communities; from += ROWS) {
      const rows = (yield* rowsOf(thread, "communities", from)).map((row, i) => {
        const hash = hashOf(row)
        const old = dated.get(row.id)
        return { ...row, hash, place: from + i, updated_at: old?.hash === hash ? old.updated_at : now }
      })
      yield* Effect.orDie(communityRows.putCommunities(own, rows))
    }
    return now
  })
})

/** The existing graph, with which the new one is compared. */
const makeKnown = Effect.map(makeCommunitiesRepository, (repository) =>
  Effect.fnUntraced(function* (organizationId: string, collection: string, before: GraphRow | undefined) {
    if (before === undefined || before.community_generation === null || before.edges === null) return undefined
    const generation = before.community_generation
    const communities = yield* Effect.orDie(repository.knownCommunities({ organizationId, collection, generation }))
    const bytes = Uint8Array.from(before.edges)
    return { communities, edges: new Uint32Array(bytes.buffer) } satisfies KnownGraph
  })
)

export const makeGenerate = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const entitlements = yield* Entitlements
  const spending = yield* AiSpending
  const repository = yield* makeGraphsRepository
  const filled = yield* makeFilled
  const written = yield* makeWritten
  const knownOf = yield* makeKnown
  const behaviourOf = yield* makeBehaviour
  const isThere = yield* makeIsThere

  const made = Effect.fnUntraced(function* (
    job: ClaimedJob,
    settle: (quantity: number) => Effect.Effect<void, unknown>,
    report: ReportProgress
  ) {
    const { organizationId } = job
    const config = job.config as GraphConfig
    const { collection, part } = config
    if (!isThere(organizationId, config)) return yield* new JobFailed({ message: "The collection was deleted." })
    const thread = yield* startedThread<ToGraph>(new URL("./graph-worker.ts", import.meta.url), HEAP_MB)
    const synonyms = yield* filled(thread, organizationId, collection, report)
    const before = yield* Effect.orDie(repository.get(organizationId, collection))
    const known = yield* knownOf(organizationId, collection, before)
    const behaviour = yield* behaviourOf(organizationId, collectionNames(contextOf(organizationId), collection))
    const others = yield* Effect.orDie(repository.countOthers(organizationId, collection))
    const entitiesMax = Math.max(0, entitlements.cap(organizationId, ENTITIES_FEATURE).max - others)
    const options = { collection, entitiesMax, communities: part === "communities", known, behaviour, synonyms }
    const summary = yield* threadAnswer(() => thread.ask<Summary>({ kind: "build", options }))
    yield* report(0.8)
    const now = yield* written(thread, job, collection, before, summary)
    const isMade = summary.communities !== undefined
    const row: GraphRow = {
      entity_generation: job.id,
      community_generation: isMade ? job.id : (before?.community_generation ?? null),
      documents: summary.documents,
      entities: summary.entities,
      edges: isMade ? new Uint8Array(summary.edges.buffer) : (before?.edges ?? null),
      generated_at: now
    }
    const alongside = Effect.gen(function* () {
      yield* repository.lock(organizationId, collection)
      // If the collection was dropped in the meantime, its graph was dropped too.
      if (!isThere(organizationId, config)) return
      yield* repository.put(organizationId, collection, row)
      yield* repository.removeOthers(organizationId, collection, row.entity_generation, row.community_generation)
      yield* settle(summary.documents)
    })
    return { summary, alongside: alongside as JobEnd["alongside"] & {} }
  })
  return Effect.fn("Graph.generate")(function* (
    job: ClaimedJob,
    report: ReportProgress
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { reservation } = job.config as GraphConfig
    const work = Effect.timeoutOrElse(
      Effect.scoped(
        spending.runJob(job.organizationId, "graph", reservation, ({ settle }) => made(job, settle, report))
      ),
      {
        duration: TIME_MS,
        orElse: () => Effect.fail(new JobFailed({ message: "The graph took more than 15 minutes." }))
      }
    )
    const { alongside, summary } = yield* Effect.mapError(work, (error) =>
      error instanceof JobFailed ? error : new JobFailed({ message: error.message })
    )
    return {
      alongside,
      result: {
        documents: summary.documents,
        entities: summary.entities,
        communities: summary.communities === undefined ? "kept" : summary.communities,
        edges: summary.edges.length,
        edges_changed: Math.round(summary.edgesChanged * 1e4) / 1e4,
        left_out: summary.leftOut
      }
    }
  })
})
