/**
 * Cleans up in the background: expired assets are deleted, claims of dead processes release their room, and bytes
 * without a row are removed. Any process may do it, and two at the same time do no harm.
 */
import { Clock, Effect } from "effect"
import { counted } from "../metrics/background.ts"
import { asDefect, type Storing } from "./storing.ts"

const EVERY_MS = 600_000
const ROWS_MAX = 500

/** Each returns how many it found. */
const makeSweep = ({ blobs, dropBlob, giveBack, repository, sql, usage, writers }: Storing) => {
  const abandoned = Effect.fnUntraced(function* () {
    const rows = yield* writers.abandoned(ROWS_MAX)
    for (const { writing, ...asset } of rows) yield* giveBack(asset, writing)
    return rows.length
  })
  const expired = Effect.fnUntraced(function* () {
    const rows = yield* repository.expired(yield* Clock.currentTimeMillis, ROWS_MAX)
    for (const { id, organization_id } of rows) {
      const gone = yield* sql.withTransaction(
        Effect.tap(repository.remove(organization_id, id), (row) =>
          row === undefined ? Effect.void : Effect.asVoid(usage.free(organization_id, { assets: 1, bytes: row.bytes }))
        )
      )
      if (gone !== undefined && gone.blob !== null) yield* dropBlob({ id, organization_id }, gone.blob)
    }
    return rows.length
  })
  /** O(blobs): lists each folder, with a thousand names per statement. */
  const unknown = Effect.gen(function* () {
    let found = 0
    for (let organizations = yield* blobs.organizations(""); organizations.length > 0;) {
      for (const organizationId of organizations)
        for (let ids = yield* blobs.ids(organizationId, ""); ids.length > 0;) {
          for (const id of yield* Effect.orDie(repository.unknown(organizationId, ids))) {
            yield* blobs.remove({ organizationId, id })
            found++
          }
          ids = yield* blobs.ids(organizationId, ids.at(-1)!)
        }
      organizations = yield* blobs.organizations(organizations.at(-1)!)
    }
    return found
  })
  return Effect.gen(function* () {
    while ((yield* expired()) === ROWS_MAX);
    while ((yield* abandoned()) === ROWS_MAX);
    return yield* Effect.catch(unknown, asDefect)
  })
}

/** Sweeps regularly until the scope closes. */
export const sweeping = (storing: Storing) =>
  Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.catchCause(counted("media sweeps")(makeSweep(storing)), (cause) =>
          Effect.logError("Unneeded media could not be removed; trying again in ten minutes", cause)
        ),
        Effect.sleep(EVERY_MS)
      )
    )
  )
