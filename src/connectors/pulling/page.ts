/**
 * One page of a shop system's catalogue: its products, and the address of the next page. Pure.
 *
 *   products   a JSON list, the list under `data`, `items` or `products` of an object, or one per line (JSONL)
 *   next       `next` of the object or `rel="next"` of the `Link` header, an address; or `next_cursor`, which is sent
 *              back as `?cursor=`
 */
import { CONTAINERS_MAX, parseBounded, parseJson } from "@dowser/engine-sdk/documents"

/** Events of one push: a page is stored in parts of this size. */
export const PART_ITEMS_MAX = 500
const LISTS = ["data", "items", "products"] as const
const NEXT_CHARACTERS_MAX = 2_048

export interface Page {
  readonly items: ReadonlyArray<unknown>
  /** Lines that are not JSON, by their number. */
  readonly unread: ReadonlyArray<{ readonly line: number; readonly reason: string }>
  /** Address of the next page; undefined after the last. */ readonly next: string | undefined
}
export interface Received {
  /** The requested address. */ readonly url: string
  /** The address of the response, after redirects. */ readonly from: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}
type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const own = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined)

const LINK = /<([^<>]{1,2048})>([^<,]{0,500})/g
const IS_NEXT = /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\s*(?:;|$))/i
const linkedNext = (header: string | undefined): string | undefined => {
  for (const [, address, parameters] of (header ?? "").slice(0, 8_192).matchAll(LINK))
    if (IS_NEXT.test(parameters!)) return address
  return undefined
}
const withCursor = (url: string, cursor: string): string => {
  const next = new URL(url)
  next.searchParams.set("cursor", cursor)
  return next.href
}
/** The token is sent with every page, so all of them must have one origin. */
const nextOf = ({ from, headers, url }: Received, body: unknown): string | undefined => {
  const fields = isFields(body) ? body : {}
  const named = own(fields, "next") ?? linkedNext(headers.link)
  if (named === undefined || named === null || named === "") {
    const cursor = own(fields, "next_cursor")
    if (cursor === undefined || cursor === null || cursor === "") return undefined
    if (typeof cursor !== "string" && typeof cursor !== "number")
      throw new PageUnfit("`next_cursor` is a text or a number")
    return withCursor(url, String(cursor))
  }
  if (typeof named !== "string" || named.length > NEXT_CHARACTERS_MAX || !URL.canParse(named, from))
    throw new PageUnfit("`next` is the address of the next page")
  const next = new URL(named, from)
  if (next.origin !== new URL(url).origin) throw new PageUnfit(`The next page is at another origin, ${next.origin}`)
  if (next.username !== "" || next.password !== "") throw new PageUnfit("`next` holds a user name or password")
  next.hash = ""
  return next.href
}
/** The response is not a page; the message is for the connector's owner. */
export class PageUnfit extends Error {}

const listOf = (body: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(body)) return body
  if (isFields(body))
    for (const name of LISTS) {
      const list = own(body, name)
      if (Array.isArray(list)) return list
    }
  throw new PageUnfit(
    `A page is a list, or an object with a list under ${LISTS.map((name) => `\`${name}\``).join(", ")}`
  )
}
const decoder = new TextDecoder()
/** Nesting depth of a page: that of a document, plus the list and object around it. */
const LEVELS_MAX = 102
/** Shop systems use product numbers beyond 2^53, so such digits are kept. */
const parsed = (bytes: Uint8Array): { readonly value: unknown } | { readonly reason: string } => {
  const read = parseBounded(decoder.decode(bytes), LEVELS_MAX, parseJson)
  if (typeof read === "object") return read
  if (read === "too deep") return { reason: `it nests deeper than ${LEVELS_MAX} levels` }
  return {
    reason: read === "too many" ? `it holds more than ${CONTAINERS_MAX} objects and lists` : "it does not parse"
  }
}
const NEWLINE = 10
const linesOf = (body: Uint8Array): Pick<Page, "items" | "unread"> => {
  const items: Array<unknown> = [],
    unread: Array<Page["unread"][number]> = []
  for (let start = 0, line = 1; start < body.length; line++) {
    const found = body.indexOf(NEWLINE, start)
    const end = found < 0 ? body.length : found
    const bytes = body.subarray(start, end)
    start = end + 1
    if (!bytes.some((byte) => byte > 32)) continue
    const read = parsed(bytes)
    if ("reason" in read) unread.push({ line, reason: read.reason })
    else items.push(read.value)
  }
  return { items, unread }
}
const LINES =
  /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines)\b|^application\/json-seq\b|^text\/(?:x-)?(?:ndjson|jsonl)\b/i

/** Throws `PageUnfit`. */
export const readPage = (received: Received): Page => {
  if (LINES.test(received.headers["content-type"] ?? ""))
    return { ...linesOf(received.body), next: nextOf(received, undefined) }
  const read = parsed(received.body)
  if ("reason" in read) throw new PageUnfit(`The answer cannot be read as JSON: ${read.reason}`)
  return { items: listOf(read.value), unread: [], next: nextOf(received, read.value) }
}
