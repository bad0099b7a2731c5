/** The total size of one request's answers, and how each step reports that it is exceeded. */
import { fail, ok, type Result } from "../errors.ts"
import { DEFAULT_LIMITS } from "../query/query-context.ts"
import { AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
import type { OperationContext } from "./operation.ts"

/** For the request: all of its answers together. */
export const budgetOf = ({ budget, limits }: OperationContext): AnswerBudget =>
  budget ?? new AnswerBudget(limits?.answer_bytes_max ?? DEFAULT_LIMITS.answer_bytes_max)
const refusalOf = (error: unknown): Result<never> => {
  if (error instanceof AnswerRefused) return fail(error.error)
  throw error
}
/** An answer that became too large fails the request, whichever step noticed it. */
export const refusable = async <A>(run: () => Promise<Result<A>>): Promise<Result<A>> => {
  try {
    return await run()
  } catch (error) {
    return refusalOf(error)
  }
}
/** The same for synchronous work. */
export const refusableNow = <A>(run: () => Result<A>): Result<A> => {
  try {
    return run()
  } catch (error) {
    return refusalOf(error)
  }
}
/** Bytes that a host adds to an answer. */
export const weigh = (budget: AnswerBudget, bytes: number): Result<undefined> =>
  refusableNow(() => {
    budget.wrote(bytes)
    return ok(undefined)
  })
