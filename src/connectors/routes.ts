/** Handlers of connectors. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { issuesIn, refused } from "../http/checks.ts"
import { inputInvalid } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import * as contract from "./contract.ts"
import { Connectors, noConnector } from "./connectors.ts"
import { makeJournalRepository } from "./journal-repository.ts"
import { Pushes } from "./pushes.ts"
import { readPush } from "./read-push.ts"
import { readingOf } from "./reading.ts"
import { Pulls } from "./pulling/pulls.ts"
import type { Connector, UpdateConnector } from "./schema.ts"

const IDEMPOTENCY_KEY_MAX = 255
const idempotencyKeyOf = (given: string | ReadonlyArray<string> | undefined) =>
  given === undefined
    ? Effect.succeed(undefined)
    : typeof given === "string" && given.length >= 1 && given.length <= IDEMPOTENCY_KEY_MAX
      ? Effect.succeed(given)
      : Effect.fail(inputInvalid("Idempotency-Key", `1 to ${IDEMPOTENCY_KEY_MAX} characters`))
/** Settings that a mode requires, and those that only the other mode has. */
const pullIssues = (mode: Connector["sync_mode"], fields: UpdateConnector, hasAddress: boolean) => {
  const pushed = (value: unknown) =>
    mode === "push" && value !== undefined && value !== null
      ? "Only of a connector whose `sync_mode` is `pull`"
      : undefined
  return issuesIn([
    ["schedule_cron", pushed(fields.schedule_cron)],
    [
      "pull_url",
      hasAddress ? pushed(fields.pull_url) : mode === "pull" ? "`pull` needs the address to fetch" : undefined
    ],
    ["pull_token", pushed(fields.pull_token)]
  ])
}
/** Empty counts as absent. */
const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text)

/** Routes that take events in, and the one that tries an event. */
const makeEventRoutes = Effect.gen(function* () {
  const connectors = yield* Connectors
  const pushes = yield* Pushes
  const pulls = yield* Pulls
  return [
    implement(
      contract.testConnectorMapping,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        yield* connectors.get(caller.organizationId, params.connectorId)
        const { event } = yield* payload
        const own = connectors.byId(params.connectorId)
        if (own === undefined) return yield* noConnector(params.connectorId)
        const { changes, rejected } = readPush([event], readingOf(own))
        const [change] = changes
        if (change === undefined) return { problem: rejected[0]!.reason }
        const { document, externalId, op, version } = change
        return {
          external_id: externalId,
          op,
          ...(version === undefined ? {} : { version }),
          ...(document === undefined ? {} : { document })
        }
      })
    ),
    implement(
      contract.syncConnector,
      Effect.fnUntraced(function* ({ bytes, caller, params, payload }) {
        yield* connectors.get(caller.organizationId, params.connectorId)
        // The request usually has no body.
        const fields = (yield* bytes).length === 0 ? {} : yield* payload
        yield* refused(
          issuesIn([
            [
              "confirm_deletes",
              fields.confirm_deletes === true && fields.full !== true ? "Only beside `full: true`" : undefined
            ]
          ])
        )
        return yield* pulls.sync(caller.organizationId, params.connectorId, fields)
      })
    ),
    implement(
      contract.pushConnectorEvents,
      Effect.fnUntraced(function* ({ bytes, headers, params }) {
        return yield* pushes.take({ connectorId: params.connectorId, headers, body: yield* bytes })
      })
    )
  ]
})
export const routes = Effect.gen(function* () {
  const connectors = yield* Connectors
  const journal = yield* makeJournalRepository
  return [
    implement(
      contract.listConnectors,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit } = yield* query
        return pageOf(yield* connectors.list(caller.organizationId, { cursor, limit: limit + 1 }), limit, byId)
      })
    ),
    implement(
      contract.createConnector,
      Effect.fnUntraced(function* ({ bytes, caller, headers, payload }) {
        const idempotencyKey = yield* idempotencyKeyOf(headers["idempotency-key"])
        const fields = yield* payload
        yield* refused(pullIssues(fields.sync_mode, fields, fields.pull_url !== undefined))
        return yield* connectors.create(caller.organizationId, { fields, body: yield* bytes, idempotencyKey })
      })
    ),
    implement(contract.getConnector, ({ caller, params }) => connectors.get(caller.organizationId, params.connectorId)),
    implement(
      contract.updateConnector,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { sync_mode } = yield* connectors.get(caller.organizationId, params.connectorId)
        const fields = yield* payload
        yield* refused(pullIssues(sync_mode, fields, true))
        return yield* connectors.update(caller.organizationId, params.connectorId, fields)
      })
    ),
    implement(contract.deleteConnector, ({ caller, params }) =>
      Effect.as(connectors.remove(caller.organizationId, params.connectorId), { id: params.connectorId })
    ),
    implement(contract.rotateConnectorSecret, ({ caller, params }) =>
      connectors.rotate(caller.organizationId, params.connectorId)
    ),
    implement(
      contract.listConnectorJournal,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const { id } = yield* connectors.get(caller.organizationId, params.connectorId)
        const { cursor, external_id, limit, status } = yield* query
        const page = yield* Effect.orDie(
          journal.page(id, {
            before: given(cursor),
            externalId: given(external_id),
            status: given(status),
            limit: limit + 1
          })
        )
        return pageOf(page, limit, byId)
      })
    ),
    ...(yield* makeEventRoutes)
  ]
})
