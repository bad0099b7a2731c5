/**
 * Evaluates an assistant with test cases, as a job: each question is asked with its owner's access, and not remembered.
 */
import { Deferred, Effect } from "effect"
import type { Caller } from "../../identity/caller.ts"
import { type ClaimedJob, type JobEnd, JobFailed, makeJobWorker } from "../../jobs/job-worker.ts"
import { makePaidJobStarter } from "../../jobs/paid-jobs.ts"
import { AiSpending, type JobReservation } from "../../metering/ai-spending.ts"
import { NO_TRAITS } from "../../identity/visitor.ts"
import { ownerOf } from "../../identity/owner.ts"
import { OwnsEngine } from "../../ports/engine/engine.ts"
import type { SearchRequest } from "../../search/request.ts"
import type { Listener } from "../answering/answer.ts"
import { makeAssistantsRepository, type StoredAssistant, storedOf } from "../assistants-repository.ts"
import { makePaidFor } from "../chats.ts"
import type { EvaluationCase } from "../schema.ts"
import { type CaseResult, caseResult, scoresOf } from "./scores.ts"

const EVALUATION = "assistant_evaluation"
interface EvaluationConfig extends Readonly<Record<string, unknown>> {
  readonly assistant_id: string
  readonly cases: ReadonlyArray<EvaluationCase>
  readonly reservation?: JobReservation
}
const SILENT: Listener = { delta: () => Effect.void, sources: () => Effect.void }
/** Limit of the bytes of an answer. */
const ANSWER_BYTES_MAX = 16_000_000

/** A search request for background work. */
const requestOf = (caller: Caller): SearchRequest => {
  let left = ANSWER_BYTES_MAX
  return {
    caller,
    traits: NO_TRAITS,
    address: "",
    origin: () => undefined,
    shared: {},
    queryText: "",
    reserve: (bytes) => (left -= bytes) >= 0
  }
}

const makeRun = Effect.gen(function* () {
  const repository = yield* makeAssistantsRepository
  const spending = yield* AiSpending
  const { answering, isOfModel } = yield* makePaidFor

  const answered = (assistant: StoredAssistant, organizationId: string, { question }: EvaluationCase) =>
    Effect.flatMap(Deferred.make<void>(), (gone) =>
      answering(
        {
          assistant,
          request: requestOf(ownerOf(organizationId)),
          messages: [{ role: "user", content: question }],
          remembered: [],
          filters: undefined,
          gone
        },
        SILENT
      )
    )
  return Effect.fn("Assistants.evaluate")(function* (
    { config, organizationId }: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { assistant_id, cases, reservation } = config as EvaluationConfig
    const found = yield* Effect.orDie(repository.get(organizationId, assistant_id))
    if (found === undefined) return yield* new JobFailed({ message: `Assistant ${assistant_id} does not exist.` })
    const assistant = storedOf(found)
    const operation = isOfModel(assistant, organizationId) ? "assistant_answer" : "assistant_extract"
    const work = (spent: { settle: (quantity: number) => NonNullable<JobEnd["alongside"]> }) =>
      Effect.gen(function* () {
        const results: Array<CaseResult> = []
        for (const [place, each] of cases.entries()) {
          const answer = yield* Effect.mapError(
            answered(assistant, organizationId, each),
            ({ message }) => new JobFailed({ message: `Case ${place}: ${message}` })
          )
          results.push(caseResult(each, answer))
          yield* report((place + 1) / cases.length)
        }
        return {
          result: { ...scoresOf(cases, results), results },
          alongside: spent.settle(cases.length)
        } satisfies JobEnd
      })
    return yield* Effect.mapError(spending.runJob(organizationId, operation, reservation, work), (error) =>
      error instanceof JobFailed ? error : new JobFailed({ message: error.message })
    )
  })
})

/** Starts an evaluation, which runs in a process with an engine. */
export const makeEvaluations = Effect.gen(function* () {
  const paid = yield* makePaidJobStarter
  const { isOfModel } = yield* makePaidFor
  const wake = (yield* OwnsEngine)
    ? (yield* makeJobWorker({ type: EVALUATION, run: yield* makeRun, atWorkMax: 1 })).wake
    : Effect.void
  return Effect.fnUntraced(function* (
    caller: Caller,
    assistant: StoredAssistant,
    cases: ReadonlyArray<EvaluationCase>
  ) {
    const operation = isOfModel(assistant, caller.organizationId) ? "assistant_answer" : "assistant_extract"
    const job = yield* paid(caller, EVALUATION, operation, cases.length, { assistant_id: assistant.id, cases })
    yield* wake
    return job
  })
})
