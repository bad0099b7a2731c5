/** If building hits takes too long for its thread, the searches are run again as long ones. */
import type { Awaitable } from "../engine.ts"
import { type EngineError, fail, type Result } from "../errors.ts"
import { GIVE_WAY } from "../budget/cutoff.ts"
import { after } from "./awaitable.ts"
import type { MerchandisedSearch } from "./merchandising.ts"

/** Compared by identity. Callers never see it, because a long search never fails with it. */
const TOO_LONG: EngineError = {
  kind: "Overloaded",
  message: "The hits take too long to make here.",
  retryAfterSeconds: 1
}

/** Works on one answer and returns `TOO_LONG` instead of throwing `GIVE_WAY`, which would abandon the other answers. */
export const reportingTooLong = <A>(run: () => Awaitable<Result<A>>): Awaitable<Result<A>> => {
  const failureOf = (error: unknown): Result<A> => {
    if (error !== GIVE_WAY) throw error
    return fail(TOO_LONG)
  }
  try {
    const answer = run()
    return answer instanceof Promise ? answer.catch(failureOf) : answer
  } catch (error) {
    return failureOf(error)
  }
}

/** Runs once in the normal case, else twice; an engine without a lane for long searches never needs the second run. */
export const orLong = <A>(
  searches: ReadonlyArray<MerchandisedSearch>,
  run: (searches: ReadonlyArray<MerchandisedSearch>) => Awaitable<A>,
  resultsOf: (answer: A) => ReadonlyArray<Result<unknown>>
): Awaitable<A> => {
  const held = searches.map(({ plan }) => plan.budget?.held ?? 0)
  return after(run(searches), (answer) => {
    if (!resultsOf(answer).some((result) => !result.ok && result.error === TOO_LONG)) return answer
    searches.forEach(({ plan }, i) => plan.budget?.holdAgain(held[i]!))
    return run(searches.map((search) => ({ ...search, plan: { ...search.plan, isLong: true } })))
  })
}
