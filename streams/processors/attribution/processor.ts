/**
 * The attribution processor: behavioural events and answered searches of one partition, joined and counted.
 *
 * Decision: the partial sums between the two rollup stages of design part 5 lie in Postgres, as packed instants, and
 * not in a topic `analytics.rollups.v1`. There they commit with the offsets in one transaction, which is what makes a
 * count exact, partial sums of all processes meet before rows are written (`fold.ts`), and readers see them at once. A
 * topic would add a hop to every event's way and offsets of its own without making any figure more right.
 */
import type { EventsPayload, ServedPayload } from "@dowser/log/event-schema"
import { EVENTS_SCHEMA_VERSION, SERVED_SCHEMA_VERSION } from "@dowser/log/event-schema"
import { EventColumns } from "@dowser/log/columns/decode"
import { type Entries, listed, type Processor } from "../../runner/processor.ts"
import type { Envelope } from "@dowser/log/record"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "@dowser/log/topics"
import { foldSome } from "../rollups/fold.ts"
import { newRollups, type Rollups, sizeOfRollups, writeRollups, writeShadow } from "../rollups/rollups.ts"
import { LogKnowledge } from "../rules/rules.ts"
import { type AttributionOptions, AttributionState } from "./state.ts"
import { type Body, step } from "./step.ts"

const entriesOf = (topic: string, { organization_id, payload, schema_version }: Envelope<unknown>): Entries<Body> => {
  if (topic === SEARCH_SERVED.name) {
    if (schema_version !== SERVED_SCHEMA_VERSION)
      throw new TypeError(`schema version ${schema_version} of ${topic} is not known`)
    return listed(
      (payload as ServedPayload).served.map((served) =>
        served === null ? undefined : { key: served.organization_id, body: { kind: "served", served } }
      )
    )
  }
  if (schema_version !== EVENTS_SCHEMA_VERSION)
    throw new TypeError(`schema version ${schema_version} of ${topic} is not known`)
  if (payload instanceof EventColumns) return eventsIn(organization_id, payload)
  return listed(
    (payload as EventsPayload).events.map((event) =>
      event === null
        ? undefined
        : { key: organization_id, body: { kind: "event", organizationId: organization_id, event } }
    )
  )
}

const eventsIn = (organizationId: string, events: EventColumns): Entries<Body> => {
  const body: Body = { kind: "event", organizationId, event: events.at(0) }
  return {
    length: events.length,
    key: events.hasErased ? undefined : organizationId,
    keyAt: (index) => (events.isErased(index) ? undefined : organizationId),
    bodyAt: (index) => {
      events.at(index)
      return body
    },
    keptAt: (index) => ({ kind: "event", organizationId, event: events.copy(index) })
  }
}

export const makeAttribution = (
  options: AttributionOptions,
  knowledge = new LogKnowledge()
): Processor<Body, AttributionState, Rollups> => ({
  name: "attribution",
  inputs: [SEARCH_SERVED, BEHAVIOUR_EVENTS],
  entriesOf,
  open: (store) => new AttributionState(store, options),
  step,
  ahead: (state, entries, from, to) => state.ahead(entries, from, to),
  newEmitted: (state, spent) => newRollups(knowledge, state?.keys, spent),
  sizeOf: sizeOfRollups,
  write: writeRollups,
  fold: foldSome,
  snapshot: (state, watermark) => state.snapshot(watermark),
  isLarge: (state) => state.isLarge,
  rebuilding: {
    prefixesOf: AttributionState.prefixesOf,
    forget: (state, organizationId) => state.forget(organizationId),
    writeShadow
  }
})
