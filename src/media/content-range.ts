/** Which range of a content a request wants (RFC 9110, 14.2), and whether the client already has it. Pure. */
import type { BlobRange } from "../ports/blob-store/blob-store.ts"

const listed = (text: string): ReadonlyArray<string> => text.split(",").map((part) => part.trim().replace(/^W\//, ""))
/** `If-None-Match`: the client has the current content. */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined && (ifNoneMatch.trim() === "*" || listed(ifNoneMatch).includes(etag))

/** Undefined: the entire content, also if the range is malformed, multipart, or for other content (`If-Range`). */
export const rangeOf = (
  range: string | undefined,
  ifRange: string | undefined,
  { etag, size }: { readonly etag: string; readonly size: number }
): BlobRange | "none" | undefined => {
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim()) ?? []
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined
  if (first === "") {
    const n = Math.min(Number(last), size)
    return n === 0 ? "none" : { start: size - n, end: size - 1 }
  }
  const start = Number(first),
    end = last === "" ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== "" && Number(last) < start) return undefined
  return start >= size ? "none" : { start, end }
}
