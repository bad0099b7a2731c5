/**
 * The whole API as one list of rooms, in the order of the specification. The server, the OpenAPI documents and the tests
 * that walk every operation read it; a room that is not in here does not exist.
 */
import { Effect } from "effect"
import * as access from "./access/routes.ts"
import * as analyticsRules from "./analytics-rules/routes.ts"
import * as audit from "./audit/routes.ts"
import * as analytics from "./analytics/routes.ts"
import * as catalog from "./catalog/routes.ts"
import { consoleRoutes } from "./console/routes.ts"
import * as demo from "./demo/routes.ts"
import * as events from "./events/routes.ts"
import * as gateway from "./gateway/routes.ts"
import * as health from "./health/routes.ts"
import * as ingest from "./ingest/routes.ts"
import * as jobs from "./jobs/routes.ts"
import * as metering from "./metering/routes.ts"
import * as organizations from "./organizations/routes.ts"
import { EngineAbsence } from "./ports/engine.ts"
import * as rules from "./rules/routes.ts"
import * as search from "./search/routes.ts"
import * as suggestions from "./suggestions/routes.ts"
import * as webhooks from "./webhooks/routes.ts"
import { EngineUnavailable } from "./wire/errors.ts"
import type { Implemented } from "./wire/route.ts"

/** Groups whose every operation asks the engine, be it only whether the collection exists. */
const engineGroups: ReadonlySet<string> = new Set(["collections", "documents", "search", "search rules", "suggestions", "analytics rules", "gateway search", "gateway documents"])

export const rooms = Effect.gen(function*() {
  const all: Array<Implemented> = [
    ...yield* catalog.routes,
    ...yield* search.routes,
    ...yield* rules.routes,
    ...yield* ingest.routes,
    ...yield* jobs.routes,
    ...yield* events.routes,
    ...yield* metering.routes,
    ...yield* analytics.routes,
    ...yield* analyticsRules.routes,
    ...yield* suggestions.routes,
    ...yield* access.routes,
    ...yield* audit.routes,
    ...yield* webhooks.routes,
    ...yield* gateway.routes,
    ...yield* health.routes,
    ...yield* organizations.routes,
    ...yield* consoleRoutes,
    ...yield* demo.routes
  ]
  // Asked for its collections, an engine that is not there could only say that there are none.
  const absence = yield* EngineAbsence
  if (absence === undefined) return all
  const refuse = () => Effect.fail(new EngineUnavailable({ message: absence }))
  return all.map(({ handler, operation }) => ({ operation, handler: engineGroups.has(operation.group) ? refuse : handler }))
})
