/**
 * Turns results of the engine package's operations into responses of the engine plane: the context of one request,
 * failures by meaning, bodies as text. Rooms of this plane add nothing to the package's results.
 */
import { Readable } from "node:stream"
import {
  type OperationResult,
  type OperationContext,
  resolveCollection,
  type StreamAnswer
} from "@dowser/engine-sdk/operations"
import { stringifyJson } from "@dowser/engine-sdk/documents"
import type { CollectionInfo, EngineError, KeepLimits, Result } from "@dowser/engine-sdk"
import { Clock, Effect } from "effect"
import { collectionClosed } from "../identity/reach.ts"
import { type Origin, systemOrigin } from "../identity/origin.ts"
import {
  ConfigurationUnavailable,
  EngineOverloaded,
  EngineRefusal,
  EngineUnavailable,
  NotFound,
  organizationUnavailable,
  RestrictionNotApplicable,
  SearchTimedOut
} from "../http/errors.ts"
import { CurrentEmbedder } from "../ports/embedder/embedder.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { capOf, type Feature, type Plan, plans } from "../metering/plans.ts"
import { Engine } from "../ports/engine/engine.ts"
import type { EngineFailure, EngineWriteFailure } from "./engine-errors.ts"
import { Reply } from "../http/reply.ts"
import type { HeldMemory } from "../http/request-memory.ts"
import { CatalogResources } from "./resources.ts"

/** An engine error as its caller sees it, for a request with a time limit (`SearchTimedOut`). */
export const declaredOf = (error: EngineError): EngineFailure | SearchTimedOut =>
  error.kind === "TimedOut" ? new SearchTimedOut({ message: error.message }) : failureOf(error)
/** The same for a request without a limit: an engine that gave up by itself counts as unavailable. */
export const failureOf = (error: EngineError): EngineFailure => {
  switch (error.kind) {
    case "Closed":
      return collectionClosed()
    case "RestrictionNotApplicable":
      return new RestrictionNotApplicable({ message: "The key's filter cannot be applied to this collection." })
    case "Invalid":
    case "CapabilityMissing":
      return new EngineRefusal({ message: error.message, status: 400 })
    case "CapReached":
      return new FeatureNotInPlan({ message: error.message, feature: error.cap, plan: error.plan, limit: error.limit })
    case "NotFound":
      return new EngineRefusal({ message: error.message, status: 404 })
    case "Conflict":
      return new EngineRefusal({ message: error.message, status: 409 })
    case "Damaged":
      return organizationUnavailable(error.message)
    case "Overloaded":
      return new EngineOverloaded({ message: error.message, retry_after_s: error.retryAfterSeconds })
    case "Unavailable":
    case "TimedOut":
      return new EngineUnavailable({ message: error.message })
  }
}

const replyOf = (answered: OperationResult): Effect.Effect<Reply, EngineFailure> =>
  answered.ok
    ? Effect.succeed(new Reply(answered.value.status, answered.value.text ?? stringifyJson(answered.value.body)))
    : Effect.fail(failureOf(answered.error))

/**
 * A refused write of a named resource, as its caller sees it: not confirmed by all processes, no room in the plan, or
 * too large.
 */
const isRefusal = (error: unknown): error is ConfigurationUnavailable | FeatureNotInPlan | EngineRefusal =>
  error instanceof ConfigurationUnavailable || error instanceof FeatureNotInPlan || error instanceof EngineRefusal

/** Runs an operation that may return synchronously or asynchronously; any other rejection is a defect. */
export const answering = (
  run: () => OperationResult | Promise<OperationResult>
): Effect.Effect<Reply, EngineWriteFailure> =>
  Effect.suspend(() => {
    const answered = run()
    return answered instanceof Promise
      ? Effect.flatMap(
          Effect.catch(Effect.tryPromise({ try: () => answered, catch: (error) => error }), (error) =>
            isRefusal(error) ? Effect.fail(error) : Effect.die(error)
          ),
          replyOf
        )
      : replyOf(answered)
  })

/** Chunks held at a time: one is being sent while the next one waits. */
const PIECES_HELD = 2
async function* owed(pieces: AsyncIterable<string>, held: HeldMemory): AsyncGenerator<string> {
  for await (const piece of pieces) {
    held.accountResponse(piece.length * PIECES_HELD)
    yield piece
  }
}
/** JSON Lines as they arrive; a failure breaks off the stream, because the status has already been sent. */
export const streaming = (started: Result<StreamAnswer>, held: HeldMemory): Effect.Effect<Reply, EngineFailure> =>
  started.ok
    ? Effect.succeed(
        new Reply(started.value.status, Readable.from(owed(started.value.lines, held)), "text/plain; charset=utf-8")
      )
    : Effect.fail(failureOf(started.error))

interface RequestLimits {
  readonly cutoff_ms_max: number
  readonly answer_bytes_max: number
  readonly multi_searches_max: number
}
/** By plan: the same object for all organizations of a plan, because plan templates are keyed by it. */
const limitsOfPlans = new Map<Plan, RequestLimits>(
  Object.values(plans).map((plan) => [
    plan,
    {
      cutoff_ms_max: capOf(plan, "search_cutoff_ms"),
      answer_bytes_max: capOf(plan, "answer_bytes"),
      multi_searches_max: capOf(plan, "searches_per_request")
    }
  ])
)

const finite = <F extends Feature>(plan: Plan, feature: F) =>
  Number.isFinite(capOf(plan, feature)) ? ({ [feature]: capOf(plan, feature) } as Record<F, number>) : {}
/** Limits on what the engine stores, checked where it writes, so that the last slot is given only once. */
const keepsOfPlans = new Map<Plan, KeepLimits>(
  Object.values(plans).map((plan) => [
    plan,
    {
      plan: plan.id,
      ...finite(plan, "collections"),
      ...finite(plan, "fields_per_collection"),
      ...finite(plan, "documents"),
      ...finite(plan, "stored_bytes")
    }
  ])
)

/**
 * Creates the context of a request, with the limits of the organization's plan; resolved once when routes are built.
 * `origin` is set for requests that may write resources.
 */
export const makeContexts = Effect.gen(function* () {
  const engine = yield* Engine
  const entitlements = yield* Entitlements
  const resources = yield* CatalogResources
  const clock = yield* Clock.Clock
  const embedder = yield* CurrentEmbedder
  return (
    organizationId: string,
    origin: Origin = systemOrigin
  ): OperationContext & { readonly limits: RequestLimits } => {
    const { plan } = entitlements.of(organizationId)
    return {
      engine,
      embedder,
      resources: origin === systemOrigin ? resources : resources.on(origin),
      namespace: organizationId,
      now_s: Math.floor(clock.currentTimeMillisUnsafe() / 1000),
      limits: limitsOfPlans.get(plan)!,
      keeps: keepsOfPlans.get(plan)!
    }
  }
})

/** The collection behind a name or an alias. Fails with `NotFound`. */
export const makeCollectionOf = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  return (organizationId: string, name: string) =>
    Effect.suspend((): Effect.Effect<CollectionInfo, NotFound> => {
      const collection = resolveCollection(contextOf(organizationId), name)
      return collection === undefined
        ? Effect.fail(new NotFound({ message: "Collection not found" }))
        : Effect.succeed(collection)
    })
})
