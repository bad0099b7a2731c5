/** What to do where building hits takes too long for its thread: run the searches again, as long ones. */
import type { Awaitable } from "../engine.ts"
import { type EngineError, fail, type Result } from "../errors.ts"
import { GIVE_WAY } from "../budget/cutoff.ts"
import { after } from "./awaitable.ts"
import type { MerchandisedSearch } from "./merchandising.ts"

/** Compared by identity; no caller sees it, as a long search never fails with it. */
const TOO_LONG: EngineError = {
  kind: "Overloaded",
  message: "The hits take too long to make here.",
  retryAfterSeconds: 1
}

/**
 * Work on one answer, with `TOO_LONG` in the place of `GIVE_WAY`: thrown, that would leave the other answers to nobody.
 */
export const tellingTooLong = <A>(run: () => Awaitable<Result<A>>): Awaitable<Result<A>> => {
  const told = (error: unknown): Result<A> => {
    if (error !== GIVE_WAY) throw error
    return fail(TOO_LONG)
  }
  try {
    const answer = run()
    return answer instanceof Promise ? answer.catch(told) : answer
  } catch (error) {
    return told(error)
  }
}

/** Runs once in the normal case, else twice; an engine without a lane for long searches never asks for that. */
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
