/**
 * What to do when Postgres will never accept what a flush writes. Such a batch is halved until one record is left, and
 * that record is searched entry by entry; everything else is counted. Decisions only: the runner acts on them.
 */
import { Data } from "effect"
import type { SqlError } from "effect/sql"

/** The five characters of the server's verdict; undefined when the server did not answer. */
const sqlStateOf = ({ reason }: SqlError.SqlError): string | undefined => {
  const { code } = (reason.cause ?? {}) as { readonly code?: unknown }
  return typeof code === "string" ? code : undefined
}

/**
 * Classes that say "these data", whenever they are sent: cardinality violation, data exception, integrity constraint,
 * check option, program limit (a value too long for an index). Everything else may pass: a server that is away, full,
 * locked or shutting down, and also a table or a right that is missing, which is ours to repair and not the record's
 * fault.
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

/** A life ends with it: the state has stepped what cannot be written, and is rebuilt without it. */
export class FlushRefused extends Data.TaggedError("FlushRefused")<{ readonly message: string }> {}

/** How carefully a partition flushes. */
export interface FlushMode {
  /** Records of one flush at most. */
  readonly recordsMax: number
  /**
   * This record (`topic/offset`) was refused alone: find which of its entries is to blame. Another may come before it
   * now.
   */
  readonly bisecting?: string
}
export const NORMAL: FlushMode = { recordsMax: Number.POSITIVE_INFINITY }
/** A flush this large went through: as large as flushes are in normal times. */
const NORMAL_FROM = 1_024

/** After a refused flush of `records` records, `last` the last of them. log2(records) refusals lead to one record. */
export const afterRefusal = (records: number, last: string): FlushMode =>
  records > 1 ? { recordsMax: Math.floor(records / 2) } : { recordsMax: 1, bisecting: last }

export const afterSuccess = ({ recordsMax }: FlushMode): FlushMode =>
  recordsMax >= NORMAL_FROM / 2 ? NORMAL : { recordsMax: recordsMax * 2 }

/**
 * Entries of one record that are searched for one by one; a record with more is given up whole, since each costs a
 * rebuilt state.
 */
export const ISOLATIONS_MAX = 16
