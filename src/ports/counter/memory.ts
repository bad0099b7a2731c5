/** Budgets that only this process uses and that may be lost when it stops. */
import { Effect } from "effect"
import type { Budget, Counter, CounterOptions, Taken } from "./counter.ts"

/**
 * All windows of one kind end together. All counters are dropped then, so memory is bounded by the budgets active in
 * one window.
 */
export const makeMemoryCounter = ({ entriesMax }: Pick<CounterOptions, "entriesMax">): Counter => {
  let startedAt = -Infinity
  let used = new Map<string, number>()
  const usedOf = ({ name, started_at }: Budget): number => {
    // A request that read the clock just before another began the new window is counted in the new window.
    if (started_at > startedAt) {
      startedAt = started_at
      used = new Map()
    }
    return used.get(name) ?? 0
  }
  const set = (name: string, units: number) => {
    used.set(name, units)
    if (used.size > entriesMax)
      for (const oldest of used.keys()) {
        used.delete(oldest)
        break
      }
  }
  const take = (budget: Budget, units: number): Taken => {
    const before = usedOf(budget)
    if (before + units > budget.limit) return { isAllowed: false, remaining: Math.max(0, budget.limit - before) }
    set(budget.name, before + units)
    return { isAllowed: true, remaining: budget.limit - before - units }
  }
  return {
    take,
    ask: (budget, units) => Effect.sync(() => take(budget, units)),
    peek: (budget) => {
      const remaining = Math.max(0, budget.limit - usedOf(budget))
      return { isAllowed: remaining > 0, remaining }
    },
    giveBack: (budget, units) => set(budget.name, Math.max(0, usedOf(budget) - units)),
    add: (budget, units) => set(budget.name, usedOf(budget) + units),
    used: (budget) => Effect.sync(() => usedOf(budget))
  }
}
