/** The bound on the total size of one request's answers, and how each step reports that it is exceeded. */
import { fail, ok, type Result } from "../errors.ts"
import { DEFAULT_LIMITS } from "../query/query-context.ts"
import { AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
import type { OperationContext } from "./operation.ts"

/** The budget of the request, for all of its answers together. */
export const budgetOf = ({ budget, limits }: OperationContext): AnswerBudget =>
  budget ?? new AnswerBudget(limits?.answer_bytes_max ?? DEFAULT_LIMITS.answer_bytes_max)
const refusalOf = (error: unknown): Result<never> => {
  if (error instanceof AnswerRefused) return fail(error.error)
  throw error
}
/** Runs a step; if it made an answer too large, the request fails. */
export const refusable = async <A>(run: () => Promise<Result<A>>): Promise<Result<A>> => {
  try {
    return await run()
  } catch (error) {
    return refusalOf(error)
  }
}
/** Like `refusable`, for synchronous work. */
export const refusableNow = <A>(run: () => Result<A>): Result<A> => {
  try {
    return run()
  } catch (error) {
    return refusalOf(error)
  }
}
/** Counts bytes that a host adds to an answer. */
export const weigh = (budget: AnswerBudget, bytes: number): Result<undefined> =>
  refusableNow(() => {
    budget.wrote(bytes)
    return ok(undefined)
  })
