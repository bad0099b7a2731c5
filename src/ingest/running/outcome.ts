/** Updates a job's counts after a batch. Pure. */
import { storableText } from "../../texts/storable-text.ts"
import { JOB_ERRORS_MAX, type JobStats } from "../schema.ts"
import type { IngestBatch, IngestChange } from "../sources/source.ts"

const ERROR_CHARACTERS_MAX = 500
const ID_CHARACTERS_MAX = 250
export const listed = (
  errors: JobStats["errors"],
  more: ReadonlyArray<{ readonly id: string; readonly error: string }>
): JobStats["errors"] =>
  errors.length >= JOB_ERRORS_MAX || more.length === 0
    ? errors
    : [
        ...errors,
        ...more.slice(0, JOB_ERRORS_MAX - errors.length).map(({ error, id }) => ({
          id: storableText(id, ID_CHARACTERS_MAX),
          error: storableText(error, ERROR_CHARACTERS_MAX)
        }))
      ]

export const idOf = (change: IngestChange): string =>
  change.op === "delete" ? change.id : typeof change.document.id === "string" ? change.document.id : ""

/** `refusals`: one per change, in order. */
export const statsAfter = (
  stats: JobStats,
  { changes, cursor, errors, fetched, state }: IngestBatch,
  refusals: ReadonlyArray<string | undefined>
): JobStats => {
  let imported = 0,
    deleted = 0
  const refused: Array<{ readonly id: string; readonly error: string }> = []
  changes.forEach((change, i) => {
    const error = refusals[i]
    if (error !== undefined) refused.push({ id: idOf(change), error })
    else if (change.op === "delete") deleted++
    else imported++
  })
  const kind = state?.source_kind
  return {
    ...stats,
    fetched: stats.fetched + fetched,
    imported: stats.imported + imported,
    failed: stats.failed + refused.length + errors.length,
    cursor,
    ...(deleted === 0 ? {} : { deleted: (stats.deleted ?? 0) + deleted }),
    ...(typeof kind === "string" ? { source_kind: kind.slice(0, ID_CHARACTERS_MAX) } : {}),
    errors: listed(stats.errors, [...errors, ...refused])
  }
}
