/** A page's file as a response: both encodings are prepared once, and it is not sent again to a browser that has it. */
import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { gzipSync } from "node:zlib"
import { Reply } from "./reply.ts"

export interface PageFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly etag: string
}

export const pageFileOf = (plain: Buffer, type: string): PageFile => ({
  type,
  plain,
  gzip: gzipSync(plain),
  etag: `"${createHash("sha256").update(plain).digest("hex").slice(0, 24)}"`
})

/** `more`: headers of this file only. */
export const fileReply = (
  { etag, gzip, plain, type }: PageFile,
  headers: IncomingHttpHeaders,
  more: Readonly<Record<string, string>> = {}
): Reply => {
  const common = { etag, "cache-control": "no-cache", vary: "accept-encoding", ...more }
  if (headers["if-none-match"] === etag) return new Reply(304, "", type, common)
  return /\bgzip\b/.test(headers["accept-encoding"] ?? "")
    ? new Reply(200, gzip, type, { ...common, "content-encoding": "gzip" })
    : new Reply(200, plain, type, common)
}
