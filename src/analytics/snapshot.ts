/**
 * What a transaction in Postgres sees, in the form of `pg_current_snapshot()`: `xmin:xmax:xip,…`. Everything below
 * xmax is visible except the listed ids. This finds exactly the rows written since an earlier read, although commits
 * happen in any order.
 */
export interface Snapshot {
  readonly text: string
  readonly xmax: bigint
  readonly inProgress: ReadonlySet<bigint>
}

export const parseSnapshot = (text: string): Snapshot => {
  const [, xmax = "0", list = ""] = text.split(":")
  return { text, xmax: BigInt(xmax), inProgress: new Set(list === "" ? [] : list.split(",").map(BigInt)) }
}

/** Whether `later` sees everything that `earlier` sees. */
export const seesAllOf = (later: Snapshot, earlier: Snapshot): boolean => {
  if (later.xmax < earlier.xmax) return false
  for (const transaction of later.inProgress)
    if (transaction < earlier.xmax && !earlier.inProgress.has(transaction)) return false
  return true
}
