/**
 * Reads a push: which documents of the connector's collection to write or delete. Each event is judged separately; an
 * unreadable one is rejected with its index, and the others continue. Pure.
 */
import { type Mapped } from "./mapping/map.ts"
import { Looks, type Path, valuesAt } from "./mapping/path.ts"
import type { Provider } from "./mapping/providers.ts"

const PUSH_EVENTS_MAX = 500
const ID_CHARACTERS_MAX = 256
const ENVELOPE = new Set(["event", "external_id", "element_id", "id", "version", "updated_at"])

type Fields = Readonly<Record<string, unknown>>
export interface Change {
  readonly index: number
  readonly externalId: string
  readonly op: "upsert" | "delete"
  /** Changes older than the applied version are ignored. */ readonly version: number | undefined
  /** Set for an upsert. */ readonly document: Fields | undefined
}
interface Refusal {
  readonly index: number
  readonly reason: string
  /** Set if the event's id could be read. */ readonly externalId: string | undefined
}
export interface PushRead {
  readonly received: number
  readonly changes: ReadonlyArray<Change>
  readonly rejected: ReadonlyArray<Refusal>
}
/** How a connector interprets events. */
export interface Reading {
  readonly provider: Provider | undefined
  /** The connector's own mapping or its provider's; undefined if documents are stored as sent. */
  readonly map: ((payload: unknown) => Mapped) | undefined
  /** The meaning of a provider's header for the entire push. */ readonly topic?: "upsert" | "delete" | undefined
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const own = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined)

/** The events of a body: one object, or `{events: [...]}`; a message if it is neither. */
export const eventsOf = (body: unknown): ReadonlyArray<unknown> | string => {
  if (!isFields(body)) return 'A push is one event as a JSON object, or `{"events": [...]}`'
  const events = own(body, "events")
  if (events === undefined) return [body]
  if (!Array.isArray(events) || events.length === 0) return "`events` is a list of at least one event"
  return events.length > PUSH_EVENTS_MAX ? `A push has at most ${PUSH_EVENTS_MAX} events` : events
}

const first = (payload: unknown, paths: ReadonlyArray<Path>): unknown => {
  for (const path of paths) {
    const [value] = valuesAt(payload, path, new Looks())
    if (value !== undefined) return value
  }
  return undefined
}
/** Shop systems use product numbers beyond 2^53; the document parser keeps such digits. */
const idText = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value))
      ? String(value)
      : undefined
const idRefusal = (id: string | undefined): string | undefined =>
  id === undefined || id === ""
    ? "`external_id` (or `element_id`, `id`) is a text or a whole number"
    : id.length > ID_CHARACTERS_MAX
      ? `\`external_id\` has at most ${ID_CHARACTERS_MAX} characters`
      : id.includes("\u0000") || !id.isWellFormed()
        ? "`external_id` holds what cannot be stored"
        : undefined
/** A time becomes its milliseconds. */
const versionOf = (value: unknown): number | "unfit" | undefined => {
  if (value === undefined || value === null) return undefined
  const number =
    typeof value === "number"
      ? value
      : typeof value === "string"
        ? /^-?\d{1,16}$/.test(value)
          ? Number(value)
          : timeOf(value)
        : Number.NaN
  return Number.isSafeInteger(number) ? number : "unfit"
}
/** Times without a zone are UTC, because several shop systems write them that way. */
const timeOf = (text: string): number =>
  Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text.replace(" ", "T")}Z`)

const opOf = (event: Fields, { provider, topic }: Reading, payload: unknown): "upsert" | "delete" | undefined => {
  const named = own(event, "event")
  if (named === "delete" || (named === undefined && topic === "delete")) return "delete"
  if (named !== undefined && named !== "upsert") return undefined
  const state = provider?.hidden === undefined ? undefined : first(payload, provider.hidden.at)
  return state !== undefined && provider!.hidden!.states.includes(String(state)) ? "delete" : "upsert"
}
/** The product itself: under `document`, or the event without its envelope. */
const payloadOf = (event: Fields): unknown => own(event, "document") ?? event
const asItIs = (event: Fields): Fields =>
  Object.fromEntries(Object.entries(event).filter(([name]) => !ENVELOPE.has(name)))

const documentOf = (event: Fields, { map }: Reading): Fields | string => {
  const given = own(event, "document")
  if (given !== undefined && !isFields(given)) return "`document` is an object"
  if (map === undefined) return given ?? asItIs(event)
  const mapped = map(payloadOf(event))
  return mapped.ok
    ? mapped.document
    : `The mapping fits this event not: ${mapped.problems.map(({ field, message }) => `\`${field}\`: ${message}`).join("; ")}`
}

const changeOf = (event: unknown, index: number, reading: Reading): Change | Refusal => {
  const refused = (reason: string, externalId?: string): Refusal => ({ index, reason, externalId })
  if (!isFields(event)) return refused("An event is an object")
  const payload = payloadOf(event)
  const { provider } = reading
  const externalId = idText(
    own(event, "external_id") ??
      own(event, "element_id") ??
      (provider === undefined ? own(event, "id") : (first(payload, provider.id) ?? own(event, "id")))
  )
  const refusal = idRefusal(externalId)
  if (refusal !== undefined) return refused(refusal)
  const op = opOf(event, reading, payload)
  if (op === undefined) return refused("`event` is `upsert` or `delete`", externalId)
  const version = versionOf(
    own(event, "version") ?? (provider === undefined ? undefined : first(payload, provider.version))
  )
  if (version === "unfit") return refused("`version` is a whole number or a time", externalId)
  if (op === "delete") return { index, externalId: externalId!, op, version, document: undefined }
  const document = documentOf(event, reading)
  if (typeof document === "string") return refused(document, externalId)
  return { index, externalId: externalId!, op, version, document: { ...document, id: externalId! } }
}

export const readPush = (events: ReadonlyArray<unknown>, reading: Reading): PushRead => {
  const changes: Array<Change> = [],
    rejected: Array<Refusal> = []
  events.forEach((event, index) => {
    const change = changeOf(event, index, reading)
    if ("reason" in change) rejected.push(change)
    else changes.push(change)
  })
  return { received: events.length, changes, rejected }
}
