/**
 * What to do if Postgres will never accept what a flush writes. Such a batch is halved until one record is left, and
 * that record is searched entry by entry; everything else is counted. Only decides: the runner acts.
 */
import { Data } from "effect"
import type { SqlError } from "effect/sql"

/** The SQLSTATE of the server's error; undefined if the server did not answer. */
const sqlStateOf = ({ reason }: SqlError.SqlError): string | undefined => {
  const { code } = (reason.cause ?? {}) as { readonly code?: unknown }
  return typeof code === "string" ? code : undefined
}

/**
 * Classes that blame the data, whenever they are sent: cardinality violation, data exception, integrity constraint,
 * check option, program limit (a value too long for an index). Everything else may be temporary: a server that is
 * unavailable, full, locked or shutting down, and also a missing table or permission, which we must repair and which is
 * not the record's fault.
 */
const REFUSING_CLASSES = new Set(["21", "22", "23", "44", "54"])
export const isRefused = (error: SqlError.SqlError): boolean =>
  REFUSING_CLASSES.has(sqlStateOf(error)?.slice(0, 2) ?? "")

const REASON_CHARACTERS_MAX = 500
/** SQLSTATE and the server's message, for the dead letter. */
export const refusalReason = (error: SqlError.SqlError): string => {
  const { message } = (error.reason.cause ?? {}) as { readonly message?: unknown }
  return `Postgres refuses what this counts: ${sqlStateOf(error) ?? "?"} ${String(message ?? error.message)}`.slice(
    0,
    REASON_CHARACTERS_MAX
  )
}

/** Makes the partition restart, because its state has stepped what cannot be written, and must be rebuilt. */
export class FlushRefused extends Data.TaggedError("FlushRefused")<{ readonly message: string }> {}

/** How large flushes may be, and which record is searched for a refused entry. */
export interface FlushMode {
  /** Maximum number of records of one flush. */
  readonly recordsMax: number
  /**
   * This record (`topic/offset`) was refused alone: find which of its entries is to blame. Other records may be read
   * before it after the restart.
   */
  readonly bisecting?: string
}
export const NORMAL: FlushMode = { recordsMax: Number.POSITIVE_INFINITY }
/** A limit that would double to this many records is lifted instead. */
const NORMAL_FROM = 1_024

/** The mode after a refused flush of `records` records, ending with `last`. log2(records) refusals find one record. */
export const afterRefusal = (records: number, last: string): FlushMode =>
  records > 1 ? { recordsMax: Math.floor(records / 2) } : { recordsMax: 1, bisecting: last }

export const afterSuccess = ({ recordsMax }: FlushMode): FlushMode =>
  recordsMax >= NORMAL_FROM / 2 ? NORMAL : { recordsMax: recordsMax * 2 }

/**
 * Maximum number of entries of one record that are isolated one by one; a record with more is skipped entirely, since
 * each costs a rebuilt state.
 */
export const ISOLATIONS_MAX = 16
