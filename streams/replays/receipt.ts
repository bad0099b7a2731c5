/**
 * What a run has done so far, as it is kept beside the run: numbers under names with a prefix for what they are of.
 * Pure.
 */
import type { Run } from "../shadow/runs.ts"

type Counts = Readonly<Record<string, number>>

export const TABLE = "table:",
  ENTRIES = "entries:",
  RECORDS = "records:",
  HIDDEN = "hidden:"

/** The receipt with more of one kind. */
export const added = (receipt: Counts, prefix: string, more: Counts): Counts => {
  const sum = new Map(Object.entries(receipt))
  for (const [name, n] of Object.entries(more)) sum.set(prefix + name, (sum.get(prefix + name) ?? 0) + n)
  return Object.fromEntries(sum)
}
/** What it says of one kind, by name. */
export const part = (receipt: Counts, prefix: string): ReadonlyArray<readonly [name: string, n: number]> =>
  Object.entries(receipt)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, n]) => [key.slice(prefix.length), n] as const)

const iso = (at: number): string => new Date(at).toISOString()
export const rangeOf = ({ beforeAt, fromAt }: Run) =>
  beforeAt > fromAt ? { from: iso(fromAt), to: iso(beforeAt - 1) } : {}
export const tablesOf = (receipt: Run["receipt"]) => part(receipt, TABLE).map(([name, rows]) => ({ name, rows }))
