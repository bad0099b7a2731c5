/** What a run has done so far, stored with the run: numbers under names with a prefix for their kind. Pure. */
import type { Keeper, RowCounts } from "../processor/erasing.ts"
import type { Run } from "../shadow/runs.ts"

type Counts = Readonly<Record<string, number>>

const KEEPER = "keeper:"
export const TABLE = "table:",
  ENTRIES = "entries:",
  RECORDS = "records:",
  HIDDEN = "hidden:"

/** Returns the receipt with more counts of one kind. */
export const added = (receipt: Counts, prefix: string, more: Counts): Counts => {
  const sum = new Map(Object.entries(receipt))
  for (const [name, n] of Object.entries(more)) sum.set(prefix + name, (sum.get(prefix + name) ?? 0) + n)
  return Object.fromEntries(sum)
}
/** Returns the receipt with rows that were removed from one keeper, by table. */
export const takenOut = (receipt: Counts, { name }: Pick<Keeper, "name">, rows: RowCounts): Counts =>
  added(added(receipt, TABLE, rows), KEEPER, { [name]: Object.values(rows).reduce((sum, n) => sum + n, 0) })

/** The counts of one kind, by name. */
export const part = (receipt: Counts, prefix: string): ReadonlyArray<readonly [name: string, n: number]> =>
  Object.entries(receipt)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, n]) => [key.slice(prefix.length), n] as const)

const iso = (at: number): string => new Date(at).toISOString()
export const rangeOf = ({ beforeAt, fromAt }: Run) =>
  beforeAt > fromAt ? { from: iso(fromAt), to: iso(beforeAt - 1) } : {}
export const tablesOf = (receipt: Run["receipt"]) => part(receipt, TABLE).map(([name, rows]) => ({ name, rows }))

/** Every model and list of rows from which a person is erased: those of processors in order, then the live ones. */
export const modelsOf = (
  receipt: Run["receipt"],
  keepers: ReadonlyArray<Keeper>,
  liveStates: ReadonlyArray<string>
) => {
  const rows = new Map(part(receipt, KEEPER))
  return [
    ...keepers.map(({ erasing: { outcome }, name }) =>
      outcome === "removed" ? { name, outcome, rows: rows.get(name) ?? 0 } : { name, outcome }
    ),
    ...liveStates.map((name) => ({ name, outcome: "rebuilt" as const }))
  ]
}
