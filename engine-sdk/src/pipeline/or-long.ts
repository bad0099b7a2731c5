/** What to do where hits turn out to take too long for the thread that they are made on: the searches once more, as long ones. */
import type { Awaitable } from "../engine.ts"
import { GIVE_WAY } from "../search/cutoff.ts"
import type { MerchandisedSearch } from "./merchandising.ts"

/** Runs once where all goes well, else twice; an engine without another place for long searches never asks for that. */
export const orLong = <A>(searches: ReadonlyArray<MerchandisedSearch>, run: (searches: ReadonlyArray<MerchandisedSearch>) => Awaitable<A>): Awaitable<A> => {
  const held = searches.map(({ plan }) => plan.budget?.held ?? 0)
  const again = (error: unknown): Awaitable<A> => {
    if (error !== GIVE_WAY || searches.some(({ plan }) => plan.isLong === true)) throw error
    searches.forEach(({ plan }, i) => plan.budget?.holdAgain(held[i]!))
    return run(searches.map((search) => ({ ...search, plan: { ...search.plan, isLong: true } })))
  }
  try {
    const answer = run(searches)
    return answer instanceof Promise ? answer.catch(again) : answer
  } catch (error) { return again(error) }
}
