/**
 * The attribution processor: it joins the behavioural events and answered searches of one partition, and reports what
 * it finds as facts to a list of processors that it does not know (`facts/fact-processor.ts`). They share its
 * partition and its transaction: its emissions are what they keep of a flush, and their state is stored with its own.
 *
 * Decision: they are called here, synchronously, and do not read a topic of attribution's results. So they are exact
 * because the offsets are, an event is written once, and a retraction costs a call. A processor added later catches up
 * by a replay of the source topics through attribution.
 *
 * Decision: the partial sums between the two rollup stages are in Postgres, as packed instants, not in a topic. There
 * they commit with the offsets in one transaction, which is what makes a count exact; partial sums of all processes are
 * merged before rows are written (`processors/rollups/fold.ts`), and readers see them immediately. A topic would add a
 * hop and its own offsets to every event without making any figure more exact.
 */
import { Effect } from "effect"
import {
  EVENTS_SCHEMA_VERSION,
  type EventsPayload,
  SERVED_SCHEMA_VERSION,
  type ServedPayload
} from "@dowser/log/event-schema"
import { EventColumns } from "@dowser/log/columns/decode"
import { type Entries, listed, type Processor, type Snapshot } from "../../processor/processor.ts"
import type { Envelope } from "@dowser/log/record"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "@dowser/log/topics"
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { Facts, KnownFacts } from "../../facts/facts.ts"
import type { StateStore } from "../../state/state.ts"
import type { Body } from "./body.ts"
import { type AttributionOptions, AttributionState } from "./state.ts"
import { step } from "./step.ts"

/** Its consumer group, and the topics that it reads, in this order: topics that others refer to come first. */
export const ATTRIBUTION = { name: "attribution", inputs: [SEARCH_SERVED, BEHAVIOUR_EVENTS] } as const

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

/** State of one partition: attribution's own, and that of every processor that counts its facts. */
interface CountingState {
  readonly own: AttributionState
  readonly known: KnownFacts
  /** One per processor, in the order of the list. */
  readonly parts: ReadonlyArray<unknown>
}

/** The prefix of a processor's keys in the partition's store: after attribution's own, separate from the others'. */
const sectionOf = ({ name }: Pick<FactProcessor, "name">): string => `x${name}|`

const openAll = (
  options: AttributionOptions,
  processors: ReadonlyArray<FactProcessor>,
  store: StateStore
): CountingState => ({
  own: new AttributionState(store, options),
  known: new KnownFacts(),
  parts: processors.map((processor) => processor.open(store, sectionOf(processor)))
})

const snapshotAll = (
  processors: ReadonlyArray<FactProcessor>,
  { own, parts }: CountingState,
  watermark: number
): Snapshot => {
  const all = [
    own.snapshot(watermark),
    ...processors.flatMap((processor, i) => processor.snapshot?.(parts[i], watermark) ?? [])
  ]
  return {
    writes: all.flatMap(({ writes }) => writes),
    stored: () => {
      for (const { stored } of all) stored()
    }
  }
}

/** Runs the next part of each fold; returns whether any has more. */
const foldAll = (processors: ReadonlyArray<FactProcessor>): Processor<Body, CountingState, Facts>["fold"] => {
  const folds = processors.flatMap(({ fold }) => fold ?? [])
  return folds.length === 0 ? undefined : Effect.map(Effect.all(folds), (answers) => answers.some((isMore) => isMore))
}

/** Attribution with the processors that count its facts, in the order in which they write. */
export const makeAttribution = (
  options: AttributionOptions,
  processors: ReadonlyArray<FactProcessor>
): Processor<Body, CountingState, Facts> => {
  const fold = foldAll(processors)
  return {
    name: ATTRIBUTION.name,
    inputs: ATTRIBUTION.inputs,
    entriesOf,
    open: (store) => openAll(options, processors, store),
    step: (state, body, place, facts) => step(state.own, body, place, facts),
    ahead: ({ own }, entries, from, to) => own.ahead(entries, from, to),
    newEmitted: ({ known, parts }, spent) =>
      new Facts(known, (facts) =>
        processors.map((processor, i) => processor.newEmitted(parts[i], facts, spent?.emitted[i]))
      ),
    // The largest, because all get the same facts and each must stay bounded.
    sizeOf: ({ emitted }) =>
      processors.reduce((most, processor, i) => Math.max(most, processor.sizeOf(emitted[i]!)), 0),
    write: ({ emitted }) =>
      Effect.forEach(processors, (processor, i) => processor.write(emitted[i]!), { discard: true }),
    ...(fold === undefined ? {} : { fold }),
    snapshot: (state, watermark) => snapshotAll(processors, state, watermark),
    isLarge: ({ own, parts }) =>
      own.isLarge || processors.some((processor, i) => processor.isLarge?.(parts[i]) === true),
    rebuilding: {
      prefixesOf: (organizationId) => [
        ...AttributionState.prefixesOf(organizationId),
        ...processors.flatMap(
          (processor) => processor.statePart?.prefixesOf(sectionOf(processor), organizationId) ?? []
        )
      ],
      forget: ({ own, parts }, organizationId) => {
        own.forget(organizationId)
        processors.forEach((processor, i) => processor.statePart?.forget(parts[i], organizationId))
      },
      writeShadow: ({ emitted }, organizationId, shadow) =>
        Effect.forEach(
          processors,
          (processor, i) => processor.rebuilding?.writeShadow?.(emitted[i]!, organizationId, shadow) ?? Effect.void,
          { discard: true }
        )
    }
  }
}
