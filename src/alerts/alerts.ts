/** Alerts of an organization: each fires when a figure over a window is too high or too low. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { makeAuditRecorder } from "../audit/record.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { NotFound } from "../http/errors.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { makeAlertsRepository, type StoredAlert } from "./alerts-repository.ts"
import type { Condition } from "./decision.ts"
import type { AlertBody } from "./schema.ts"
import { Search } from "../search/search.ts"
import { keepMinutes } from "./stored-minutes.ts"
import { watch } from "./watch.ts"

interface AlertsShape {
  /** `collections` are LIKE patterns; all if absent. */
  readonly list: (
    organizationId: string,
    page: {
      readonly cursor: string | undefined
      readonly limit: number
      readonly collections: ReadonlyArray<string> | undefined
    }
  ) => Effect.Effect<ReadonlyArray<StoredAlert>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<StoredAlert, NotFound>
  readonly create: (organizationId: string, body: AlertBody) => Effect.Effect<StoredAlert, FeatureNotInPlan>
  /** An alert whose condition changes is armed again. */
  readonly replace: (organizationId: string, id: string, body: AlertBody) => Effect.Effect<StoredAlert, NotFound>
  readonly remove: (organizationId: string, id: string) => Effect.Effect<{ readonly id: string }, NotFound>
}

/** The schema has already validated them. */
const fieldsOf = ({ collection, enabled = true, name, ...rest }: AlertBody) => ({
  ...(rest as Condition & Pick<AlertBody, "window_minutes">),
  name: name.trim(),
  enabled,
  ...(collection === undefined || collection === null ? {} : { collection })
})
type Fields = ReturnType<typeof fieldsOf>
const asksTheSame = (a: Fields, b: StoredAlert): boolean =>
  a.enabled &&
  b.enabled &&
  (["metric", "op", "threshold", "window_minutes", "collection"] as const).every((field) => a[field] === b[field])

const present =
  (id: string) =>
  (alert: StoredAlert | undefined): Effect.Effect<StoredAlert, NotFound> =>
    alert === undefined ? Effect.fail(new NotFound({ message: `Alert ${id} does not exist.` })) : Effect.succeed(alert)
const armed = { state: "ok", last_value: null } as const

const makeWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const entitlements = yield* Entitlements
  const audit = yield* makeAuditRecorder
  const repository = yield* makeAlertsRepository
  const recorded = <A, E extends { readonly _tag: string }>(
    organizationId: string,
    id: string,
    change: Effect.Effect<A, E | SqlError.SqlError>
  ) =>
    sql
      .withTransaction(audit.recorded({ kind: "alert", organizationId, id }, change))
      .pipe(Effect.catchTag("SqlError", Effect.die)) as Effect.Effect<A, Exclude<E, SqlError.SqlError>>
  const create: AlertsShape["create"] = Effect.fn("Alerts.create")(function* (organizationId, body) {
    const id = yield* identifiers.make("alr")
    const now = yield* Clock.currentTimeMillis
    const alert: StoredAlert = {
      id,
      organization_id: organizationId,
      ...fieldsOf(body),
      ...armed,
      last_fired_at: null,
      created_at: now,
      updated_at: now
    }
    return yield* recorded(
      organizationId,
      id,
      Effect.gen(function* () {
        yield* entitlements.requireRoom(organizationId, "alerts", (yield* repository.lockCount(organizationId)) + 1)
        yield* repository.put(alert)
        return alert
      })
    )
  })
  const replace: AlertsShape["replace"] = Effect.fn("Alerts.replace")(function* (organizationId, id, body) {
    const fields = fieldsOf(body)
    return yield* recorded(
      organizationId,
      id,
      Effect.gen(function* () {
        const before = yield* Effect.flatMap(repository.lock(organizationId, id), present(id))
        const { collection: _, ...known } = before
        const alert: StoredAlert = {
          ...known,
          ...fields,
          ...(asksTheSame(fields, before) ? {} : armed),
          updated_at: Math.max(known.updated_at + 1, yield* Clock.currentTimeMillis)
        }
        yield* repository.put(alert)
        return alert
      })
    )
  })
  const remove: AlertsShape["remove"] = Effect.fn("Alerts.remove")(function* (organizationId, id) {
    return yield* recorded(
      organizationId,
      id,
      Effect.gen(function* () {
        yield* Effect.flatMap(repository.lock(organizationId, id), present(id))
        yield* repository.remove(organizationId, id)
        return { id }
      })
    )
  })
  return { create, replace, remove }
})

const make = Effect.gen(function* () {
  const repository = yield* makeAlertsRepository
  const writes = yield* makeWrites
  yield* (yield* CollectionDrops).register((organizationId, collection) =>
    Effect.flatMap(Effect.orDie(repository.ofCollection(organizationId, collection)), (ids) =>
      Effect.forEach(ids, (id) => Effect.ignore(writes.remove(organizationId, id)), { discard: true })
    )
  )
  yield* keepMinutes((yield* Search).minutes)
  yield* watch
  return Alerts.of({
    ...writes,
    get: (organizationId, id) => Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), present(id)),
    list: (organizationId, { collections, cursor, limit }) =>
      Effect.orDie(repository.page(organizationId, cursor, limit, collections))
  })
})

export class Alerts extends Context.Service<Alerts, AlertsShape>()("dowser/alerts/Alerts") {
  static readonly layer = Layer.effect(
    Alerts,
    Effect.suspend(() => make)
  )
}
