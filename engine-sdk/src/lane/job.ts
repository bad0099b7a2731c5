/** A job for a search thread, and its outcome. */
import { type AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
import type { Namespace } from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"
import type { Done, Shared, Task, ToLane, Work } from "./messages.ts"
import { basesToSend, type WorkOutline } from "./plan-outline.ts"
import { TextReader } from "./portable.ts"
import type { ThreadReport } from "./thread-report.ts"
import { sealed } from "./sealed.ts"
import type { SearchPlan } from "../plan.ts"
import type { ThreadContents } from "./search-thread.ts"

/** A job's work and namespace, and the collections it needs, captured when it begins. */
export interface LaneJob {
  readonly namespace: Namespace
  readonly work: Work
  /** The work as it is sent. */ readonly outline: WorkOutline
  readonly left_ms: () => number
  /** The request's memory budget; the search's own memory is added when it is done. */
  readonly answer: AnswerBudget | undefined
  /** Whether the caller has disconnected. */ readonly isGivenUp: () => boolean
  /** `known`: collections that the thread already has; updated, and reduced to `known_max` collections. */
  readonly shared: (known: ThreadContents, known_max: number) => Result<SharedNow>
}
export interface SharedNow {
  readonly names: ReadonlyArray<readonly [name: string, key: number]>
  /** undefined if the thread already has everything. */ readonly shared: Shared | undefined
}
export interface LaneDone {
  readonly done: Done
  readonly used_ms: number
  /** The text of its pages, which its answers read in sequence. */ readonly texts: TextReader
}
export interface PendingJob {
  readonly job: LaneJob
  readonly resolve: (done: Result<LaneDone>) => void
  readonly reject: (defect: Error) => void
}
export const CLOSED: EngineError = { kind: "Unavailable", message: "The engine is closed." }

/** The searches of a job; empty for work without searches. */
export const plansOf = (work: Work): ReadonlyArray<SearchPlan> =>
  work.kind === "search" ? work.plans : work.kind === "union" ? work.plan.plans : []

/** The message that starts a job; a failure if its collections have changed. */
export const messageOf = (
  { answer, namespace, outline, shared }: LaneJob,
  known: ThreadContents,
  known_max: number,
  own: { readonly id: number; readonly left_ms: number; readonly quantum_ms?: number },
  givenUp?: SharedArrayBuffer
): Result<ToLane> => {
  const now = shared(known, known_max)
  if (!now.ok) return now
  const bases = basesToSend(outline, known.bases)
  const task: Task = {
    ...own,
    namespace,
    names: now.value.names,
    work: outline.work,
    ...(bases.length === 0 ? {} : { bases }),
    basesFrom: outline.basesFrom,
    ...(answer === undefined ? {} : { answer: { bytes_max: answer.bytes_max, held: answer.held } })
  }
  const text = sealed(task),
    changes = now.value.shared
  if (text.text !== undefined && changes === undefined && givenUp === undefined) return ok(text.text)
  return ok({
    task: text,
    ...(changes === undefined ? {} : { shared: changes }),
    ...(givenUp === undefined ? {} : { givenUp })
  })
}
/** Turns the thread's reply into the caller's result. */
export const settleJob = ({ job, reject, resolve }: PendingJob, report: ThreadReport): void => {
  if (!("finished" in report)) {
    reject(Object.assign(new Error(report.message), { stack: report.stack }))
    return
  }
  const { done, held, refusal, used_ms } = report.finished
  try {
    job.answer?.settle(held, refusal)
    resolve({ ok: true, value: { done, used_ms, texts: new TextReader(report.texts) } })
  } catch (error) {
    if (error instanceof AnswerRefused) resolve(fail(error.error))
    else reject(error as Error)
  }
}
