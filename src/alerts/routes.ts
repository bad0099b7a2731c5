/** Handlers of alerts: the alert is looked up before the body is read. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { likeOf } from "../engine-plane/like-pattern.ts"
import { inputInvalid, NotFound } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../identity/reach.ts"
import { Alerts } from "./alerts.ts"
import type { StoredAlert } from "./alerts-repository.ts"
import * as contract from "./contract.ts"
import { WITHOUT_COLLECTION } from "./decision.ts"
import type { AlertBody } from "./schema.ts"

const shown = ({ organization_id: _, ...alert }: StoredAlert) => alert
/** An alert over all collections requires a key for all collections. */
const isReached = (caller: Caller, collection: string | null | undefined): boolean =>
  collection === undefined || collection === null ? reachesEverything(caller) : reachesCollection(caller, collection)
const checked = Effect.fnUntraced(function* (caller: Caller, body: AlertBody) {
  const { collection, metric } = body
  if (collection !== undefined && collection !== null && WITHOUT_COLLECTION.has(metric))
    return yield* inputInvalid("collection", `\`${metric}\` knows no collection`)
  if (!isReached(caller, collection)) return yield* collectionClosed()
  return body
})

export const routes = Effect.gen(function* () {
  const alerts = yield* Alerts
  const found = (caller: Caller, id: string) =>
    Effect.flatMap(alerts.get(caller.organizationId, id), (alert) =>
      isReached(caller, alert.collection)
        ? Effect.succeed(alert)
        : Effect.fail(new NotFound({ message: `Alert ${id} does not exist.` }))
    )
  return [
    implement(
      contract.listAlerts,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        const data = yield* alerts.list(caller.organizationId, {
          cursor,
          limit: limit + 1,
          collections: reachesEverything(caller) ? undefined : caller.key.collections.map(likeOf)
        })
        return pageOf(data.map(shown), limit, byId)
      })
    ),
    implement(
      contract.createAlert,
      Effect.fnUntraced(function* ({ caller, payload }) {
        return shown(yield* alerts.create(caller.organizationId, yield* checked(caller, yield* payload)))
      })
    ),
    implement(contract.getAlert, ({ caller, params }) => Effect.map(found(caller, params.alertId), shown)),
    implement(
      contract.replaceAlert,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.alertId)
        return shown(yield* alerts.replace(caller.organizationId, id, yield* checked(caller, yield* payload)))
      })
    ),
    implement(contract.deleteAlert, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.alertId), ({ id }) => alerts.remove(caller.organizationId, id))
    )
  ]
})
