/** Deletes documents that the connector wrote and that no page of a full pull contains, unless they are too many. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { makeApplied } from "./applied.ts"
import type { Place } from "./place.ts"
import { makePullPages } from "./pull-pages.ts"
import { failed, type Pull, WAITING_MAX } from "./pulled.ts"
import { makeStored } from "./store-parts.ts"

/** Share of the documents that the connector wrote. */
const DELETED_SHARE_MAX = 0.3

export const makeDeleteMissing = Effect.gen(function* () {
  const applied = yield* makeApplied
  const repository = yield* makePullPages
  const stored = yield* makeStored
  /** Returns how many were deleted. */
  return Effect.fnUntraced(function* (pull: Pull, { nameless }: Place) {
    const { config, connector, started_at } = pull
    if (nameless > 0)
      return yield* failed(`${nameless} products could not be read, not even their ids, so nothing was deleted.`)
    const missing = yield* Effect.orDie(repository.countMissing(connector.id, started_at))
    const all = yield* Effect.orDie(repository.countLiving(connector.id))
    if (missing > DELETED_SHARE_MAX * all && !config.confirm_deletes)
      return yield* failed(
        `${missing} of ${all} documents of the connector are missing, more than 30 %: nothing was deleted. To delete them, start the pull with \`full\` and \`confirm_deletes: true\`.`
      )
    for (let after = ""; ;) {
      const ids = yield* Effect.orDie(repository.missing(connector.id, started_at, after))
      if (ids.length === 0) return missing
      after = ids.at(-1)!
      const changes = ids.map((externalId, index) => ({
        index,
        externalId,
        op: "delete" as const,
        version: undefined,
        document: undefined
      }))
      const name = `missing ${createHash("sha256").update(JSON.stringify(ids)).digest("base64url")}`
      yield* stored(pull, name, { received: ids.length, changes, rejected: [] })
      yield* applied(connector.id, pull.job.id, WAITING_MAX)
    }
  })
})
