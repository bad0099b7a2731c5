/**
 * Whether a new key is no wider than its creator: someone who steals a key that works from one address, for an hour,
 * for one collection, must not be able to create one that works from everywhere and forever. Pure.
 */
import { covers } from "@dowser/engine-sdk/query"
import { isInRange, parseCidr } from "../../net/network-address.ts"
import { collectionMatches } from "@dowser/engine-sdk/operations"
import { type KeyRecord, RATE_LIMIT_DEFAULT } from "../../identity/key-record.ts"
import { originMatches } from "../check/origins.ts"

/** The properties of a key that can be wider or narrower. */
export type Width = Pick<
  KeyRecord,
  "scope" | "collections" | "cidrs" | "origins" | "filter_by" | "fields" | "rate_limit_per_minute" | "expires_at"
>
type WidthField = keyof Width

export const withinCollections = (asked: ReadonlyArray<string>, own: ReadonlyArray<string>): boolean =>
  own.includes("*") ||
  own.includes(".*") ||
  asked.every(
    (pattern) =>
      own.includes(pattern) || (pattern !== "*" && !pattern.includes(".*") && collectionMatches(pattern, own))
  )

/** Whether every range lies within one of the others. An empty list means every address. */
export const withinCidrs = (asked: ReadonlyArray<string>, own: ReadonlyArray<string>): boolean =>
  own.length === 0 ||
  (asked.length > 0 &&
    asked.every((text) => {
      const range = parseCidr(text)
      return (
        range !== undefined &&
        own.some((other) => {
          const outer = parseCidr(other)
          return outer !== undefined && outer.length <= range.length && isInRange(range.bits, outer)
        })
      )
    }))

const normal = (entry: string): string => entry.toLowerCase().replace(/\/+$/, "")
const suffixOf = (entry: string): string | undefined => /^(?:[a-z]+:\/\/)?\*(\..+)$/.exec(entry)?.[1]
const originWithin = (asked: string, own: string): boolean => {
  const entry = normal(asked),
    outer = normal(own)
  if (outer === "*" || entry === outer) return true
  if (entry === "*") return false
  const inner = suffixOf(entry),
    suffix = suffixOf(outer)
  // All subdomains of a domain, with any scheme: within the subdomains of the same domain or of a parent domain.
  if (inner !== undefined) return suffix !== undefined && inner.endsWith(suffix)
  if (entry.includes("://")) return originMatches(entry, [outer])
  // A bare host means every scheme and port.
  return suffix !== undefined && entry.endsWith(suffix)
}
/** Whether every entry admits only what one of the others admits. An empty list means every origin, or none. */
export const withinOrigins = (asked: ReadonlyArray<string>, own: ReadonlyArray<string>): boolean =>
  own.length === 0 || (asked.length > 0 && asked.every((entry) => own.some((other) => originWithin(entry, other))))

/** 0 means no limit, the widest rate. */
const withinRate = (asked: number, own: number): boolean => own === 0 || (asked !== 0 && asked <= own)
/** The creator's filters apply unchanged; more may be added. */
const withinFilters = (asked: KeyRecord["filter_by"], own: KeyRecord["filter_by"]): boolean =>
  Object.entries(own).every(([name, filter]) => Object.hasOwn(asked, name) && asked[name] === filter)
const withinFields = (asked: ReadonlyArray<string>, own: ReadonlyArray<string>): boolean =>
  own.length === 0 || (asked.length > 0 && asked.every((name) => covers(own, name)))
const reaching: Readonly<Record<KeyRecord["scope"], ReadonlyArray<KeyRecord["scope"]>>> = {
  full: ["full", "search", "connector_write"],
  search: ["search"],
  connector_write: ["connector_write"],
  installation: []
}

/** The fields in which a key would be wider than its creator; empty if it may be created. */
export const widerFields = (asked: Width, own: Width): ReadonlyArray<WidthField> => {
  const fits: Readonly<Record<WidthField, boolean>> = {
    scope: reaching[own.scope].includes(asked.scope),
    collections: withinCollections(asked.collections, own.collections),
    cidrs: withinCidrs(asked.cidrs, own.cidrs),
    origins: withinOrigins(asked.origins, own.origins),
    filter_by: withinFilters(asked.filter_by, own.filter_by),
    fields: withinFields(asked.fields, own.fields),
    rate_limit_per_minute: withinRate(asked.rate_limit_per_minute, own.rate_limit_per_minute),
    expires_at: asked.expires_at <= own.expires_at
  }
  return (Object.keys(fits) as ReadonlyArray<WidthField>).filter((field) => !fits[field])
}

/** The default rate: the usual one, or the creator's if that is lower. */
export const rateWithin = (own: number): number => (own === 0 ? RATE_LIMIT_DEFAULT : Math.min(RATE_LIMIT_DEFAULT, own))
