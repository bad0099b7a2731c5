/**
 * The ordered check of contract part 0 as one pure function: the first refusal that holds answers. What comes after it
 * (resource, session, body, plan) needs the resource and belongs to the use case.
 */
import { isIP } from "node:net"
import { AddressNotAllowed, CollectionNotAllowed, OrganizationPaused, OriginNotAllowed, ScopeDenied, Throttled } from "../wire/errors.ts"
import type { Scope } from "../wire/operation.ts"
import type { KeyRecord } from "./key-record.ts"

export interface DecisionInput {
  readonly key: KeyRecord
  readonly organization: { readonly status: "active" | "paused"; readonly paused_reason: "payment" | "manual" | undefined }
  readonly isSecured: boolean
  readonly scope: Scope
  readonly address: string
  readonly origin: string | undefined
  /** The collection that the path names, if any. */ readonly collection: string | undefined
  /** Takes one token of the key's minute; false when none is left. Called only when everything before it passed. */
  readonly takeRateToken: () => { readonly isAllowed: boolean; readonly resets_in_s: number }
}

export type Refusal = OrganizationPaused | AddressNotAllowed | OriginNotAllowed | ScopeDenied | Throttled | CollectionNotAllowed

const ipv4Bits = (text: string): bigint | undefined => {
  const parts = text.split(".").map(Number)
  return parts.length === 4 && parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255)
    ? parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
    : undefined
}

/** Address as 128 bits; IPv4 sits in ::ffff:0:0/96, so that a mapped address and its IPv4 form are one. */
export const addressBits = (text: string): bigint | undefined => {
  const bare = text.replace(/%.*$/, "")
  if (isIP(bare) === 4) {
    const v4 = ipv4Bits(bare)
    return v4 === undefined ? undefined : (0xffffn << 32n) | v4
  }
  if (isIP(bare) !== 6) return undefined
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(bare)
  let words = bare
  if (dotted !== null) {
    const v4 = ipv4Bits(dotted[2])
    if (v4 === undefined) return undefined
    words = `${dotted[1]}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`
  }
  const [head, tail] = words.split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const middle = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill("0")
  const all = [...left, ...middle, ...right]
  return all.length === 8 ? all.reduce((bits, word) => (bits << 16n) | BigInt(parseInt(word, 16)), 0n) : undefined
}

/** `10.0.0.0/8`, `2001:db8::/32` or a single address. */
export const parseCidr = (text: string): { readonly bits: bigint; readonly length: number } | undefined => {
  const [address, suffix] = text.split("/")
  const bits = addressBits(address)
  if (bits === undefined) return undefined
  const width = isIP(address) === 4 ? 32 : 128
  const length = suffix === undefined ? width : /^\d{1,3}$/.test(suffix) ? Number(suffix) : -1
  return length < 0 || length > width ? undefined : { bits, length: length + (128 - width) }
}

export const isInCidrs = (address: string, cidrs: ReadonlyArray<string>): boolean => {
  const bits = addressBits(address)
  return bits !== undefined && cidrs.some((text) => {
    const cidr = parseCidr(text)
    return cidr !== undefined && (cidr.length === 0 || (bits >> BigInt(128 - cidr.length)) === (cidr.bits >> BigInt(128 - cidr.length)))
  })
}

/** `https://shop.example`, or `*.shop.example` for every subdomain. */
export const originMatches = (origin: string, allowed: ReadonlyArray<string>): boolean => {
  const normal = origin.toLowerCase().replace(/\/+$/, "")
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/]+)$/.exec(normal)?.[1].replace(/:\d+$/, "")
  return allowed.some((entry) => {
    const pattern = entry.toLowerCase().replace(/\/+$/, "")
    if (pattern === "*" || pattern === normal || pattern === host) return true
    const suffix = /^(?:[a-z]+:\/\/)?\*(\..+)$/.exec(pattern)?.[1]
    return suffix !== undefined && host !== undefined && host.endsWith(suffix)
  })
}

/** Whole-name match of names, `*` and patterns with `.*`; linear in the name, so no pattern can be made to hang. */
export const collectionMatches = (name: string, patterns: ReadonlyArray<string>): boolean =>
  patterns.some((pattern) => {
    if (pattern === "*" || pattern === ".*" || pattern === name) return true
    const parts = pattern.split(".*")
    if (parts.length === 1) return false
    if (!name.startsWith(parts[0])) return false
    let at = parts[0].length
    for (const part of parts.slice(1, -1)) {
      const found = name.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    const last = parts[parts.length - 1]
    return name.length - at >= last.length && name.endsWith(last)
  })

const scopeReaches = (key: KeyRecord, scope: Scope): boolean =>
  scope === "public" || (key.scope === "full" && scope !== "operator") || (key.scope === "search" && scope === "search")

/** undefined = allowed. */
export const decide = (input: DecisionInput): Refusal | undefined => {
  const { key, organization } = input
  if (organization.status === "paused") return new OrganizationPaused({ message: "The organization is paused.", reason: organization.paused_reason ?? "manual" })
  if (key.cidrs.length > 0 && !isInCidrs(input.address, key.cidrs)) return new AddressNotAllowed({ message: "This key is not allowed from this address." })
  if (key.origins.length > 0 && (input.origin === undefined || !originMatches(input.origin, key.origins))) return new OriginNotAllowed({ message: "This key is not allowed from this origin." })
  if (!scopeReaches(key, input.scope) || (input.isSecured && input.scope !== "search")) return new ScopeDenied({ message: "The scope of this key does not reach the operation." })
  const rate = input.takeRateToken()
  if (!rate.isAllowed) return new Throttled({ message: "Rate limit exceeded.", kind: "rate", retry_after_s: rate.resets_in_s, limit: key.rate_limit_per_minute })
  if (input.collection !== undefined && !collectionMatches(input.collection, key.collections)) return new CollectionNotAllowed({ message: "This key does not reach the collection." })
  return undefined
}
