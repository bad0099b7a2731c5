/** Chooses the reader of a feed by its format, or by the media type that it was sent with. */
import { readCsv } from "./csv.ts"
import { readGoogleXml } from "./google-xml.ts"
import { readJsonl } from "./jsonl.ts"
import type { FeedReader } from "./reader.ts"
import { readYml } from "./yml.ts"

export const FEED_FORMATS = ["yml", "jsonl", "csv", "google_xml"] as const
export type FeedFormat = (typeof FEED_FORMATS)[number]

const READERS: ReadonlyMap<string, FeedReader> = new Map([
  ["yml", readYml],
  ["jsonl", readJsonl],
  ["csv", readCsv],
  ["google_xml", readGoogleXml]
])
const BY_MEDIA: ReadonlyMap<string, FeedFormat> = new Map([
  ["application/x-ndjson", "jsonl"],
  ["application/jsonl", "jsonl"],
  ["application/x-jsonlines", "jsonl"],
  ["text/csv", "csv"],
  ["text/tab-separated-values", "csv"],
  ["application/rss+xml", "google_xml"],
  ["application/atom+xml", "google_xml"],
  ["application/yml", "yml"],
  ["application/x-yml", "yml"]
])
/** Undefined for an unknown format or media type; plain XML may be either of two formats. */
export const formatOf = (formatOrMedia: string): FeedFormat | undefined => {
  const name = formatOrMedia.split(";")[0]!.trim().toLowerCase()
  return FEED_FORMATS.find((format) => format === name) ?? BY_MEDIA.get(name)
}
export const readerOf = (formatOrMedia: string): FeedReader | undefined => READERS.get(formatOf(formatOrMedia) ?? "")
