/**
 * Interprets a line of an extractor: Airbyte messages (`RECORD` with `record: {stream, data, emitted_at}`) and Singer
 * messages (`SCHEMA`, `RECORD` with `stream` next to `record`). Anything else is a document. Pure.
 */
type Fields = Readonly<Record<string, unknown>>
export type Message =
  | { readonly kind: "document"; readonly document: Fields; readonly stream?: string | undefined }
  | { readonly kind: "deleted"; readonly document: Fields; readonly stream?: string | undefined }
  | { readonly kind: "schema"; readonly stream: string; readonly keys: ReadonlyArray<string> }
  | { readonly kind: "state"; readonly state: unknown }
  | { readonly kind: "failure"; readonly message: string }
  /** Carries nothing to store: a log line, a catalogue, a check. */
  | { readonly kind: "nothing" }

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
/** Fields in which change data capture stores when a record was deleted at its source. */
const DELETED_AT = ["_ab_cdc_deleted_at", "_sdc_deleted_at"]
const recordOf = (document: Fields, stream: unknown): Message => ({
  kind: DELETED_AT.some((name) => typeof document[name] === "string" && document[name] !== "") ? "deleted" : "document",
  document,
  ...(typeof stream === "string" ? { stream } : {})
})
/** The record in a message; undefined if the line is not such a message. */
const enveloped = (type: unknown, line: Fields): Message | undefined => {
  if (type !== "RECORD" || !isFields(line.record)) return undefined
  // Singer puts the stream next to the record, Airbyte inside it.
  return typeof line.stream === "string"
    ? recordOf(line.record, line.stream)
    : isFields(line.record.data)
      ? recordOf(line.record.data, line.record.stream)
      : undefined
}
const tracedError = ({ trace }: Fields): string | undefined => {
  if (!isFields(trace) || trace.type !== "ERROR" || !isFields(trace.error)) return undefined
  const { message } = trace.error
  return typeof message === "string" ? message : "The extractor failed"
}
/** By type, the member that a message must also have: a document that only has a field `type` stays a document. */
const SILENT: ReadonlyMap<unknown, string> = new Map([
  ["LOG", "log"],
  ["SPEC", "spec"],
  ["CATALOG", "catalog"],
  ["CONNECTION_STATUS", "connectionStatus"],
  ["CONTROL", "control"],
  ["TRACE", "trace"],
  ["ACTIVATE_VERSION", "version"]
])

export const messageOf = (line: Fields): Message => {
  const { type } = line
  if (typeof type !== "string") return { kind: "document", document: line }
  const record = enveloped(type, line)
  if (record !== undefined) return record
  if (type === "STATE" && ("state" in line || "value" in line))
    return { kind: "state", state: line.state ?? line.value }
  if (type === "SCHEMA" && typeof line.stream === "string" && isFields(line.schema))
    return {
      kind: "schema",
      stream: line.stream,
      keys: Array.isArray(line.key_properties) ? line.key_properties.filter((key) => typeof key === "string") : []
    }
  const error = type === "TRACE" ? tracedError(line) : undefined
  if (error !== undefined) return { kind: "failure", message: error }
  const member = SILENT.get(type)
  return member !== undefined && member in line ? { kind: "nothing" } : { kind: "document", document: line }
}
