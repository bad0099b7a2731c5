/**
 * Parses a module's report: unknown fields are kept under `metadata` at each level, and counted, so that a newer
 * module's report is never refused. Pure.
 */
import { decoderOf } from "../http/validation.ts"
import { discoveryFields, healthFields, Report, storeFields } from "./schema.ts"

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const REPORT = new Set(["applied_revision", "discovery", "sync_health", "last_error"])
const DISCOVERY = new Set(Object.keys(discoveryFields))
const STORE = new Set(Object.keys(storeFields))
const HEALTH = new Set(Object.keys(healthFields))

class Sorted {
  unknown = 0
  /** Keeps known fields, and moves all others under `metadata`. */
  fields(value: unknown, known: ReadonlySet<string>): unknown {
    if (!isFields(value)) return value
    const others = Object.entries(value).filter(([name]) => !known.has(name))
    this.unknown += others.length
    return {
      ...Object.fromEntries(Object.entries(value).filter(([name]) => known.has(name))),
      ...(others.length === 0 ? {} : { metadata: Object.fromEntries(others) })
    }
  }
  report(body: Fields): Fields {
    const report = this.fields(body, REPORT) as Record<string, unknown>
    if ("sync_health" in report) report.sync_health = this.fields(report.sync_health, HEALTH)
    const discovery = this.fields(report.discovery, DISCOVERY)
    if (!isFields(discovery)) return report
    const { stores } = discovery
    report.discovery = Array.isArray(stores)
      ? { ...discovery, stores: stores.map((store) => this.fields(store, STORE)) }
      : discovery
    return report
  }
}
const decode = decoderOf(Report, { closed: true })

/** Problems with known fields are a 400 that names them all. */
export const readReport = (body: unknown) => {
  const sorted = new Sorted()
  const report = isFields(body) ? sorted.report(body) : body
  return { report: decode(report), unknown: sorted.unknown }
}
