/** What a page's visit changes: documents to write and delete, the record of the page, and where it leads. Pure. */
import { createHash } from "node:crypto"
import type { IngestChange } from "../sources/source.ts"
import type { FrontierPage, KnownPage } from "./crawl-repository.ts"
import { sectionId } from "./page-url.ts"
import type { PageRead } from "./reading/page-documents.ts"

/** Consecutive crawls that must not find a page before its documents are deleted. */
const GONE_MAX = 2

export interface Visit {
  readonly page: FrontierPage
  /** Whether the page was requested from its host. */ readonly isAsked: boolean
  readonly changes: ReadonlyArray<IngestChange>
  readonly errors: ReadonlyArray<{ readonly id: string; readonly error: string }>
  /** The new record of the page; undefined if the record stays as it is. */ readonly keep?: KnownPage | undefined
  readonly isForgotten?: boolean | undefined
  readonly links: ReadonlyArray<FrontierPageFound>
  readonly linksBeyond: number
  /** Approximate size of the changes as JSON. */ readonly bytes: number
}
interface FrontierPageFound {
  readonly url: string
  readonly depth: number
  readonly hops: number
}
const nothing = { isAsked: true, changes: [], errors: [], links: [], linksBeyond: 0, bytes: 0 }

const deletions = (pageId: string, from: number, to: number): ReadonlyArray<IngestChange> =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => ({ op: "delete", id: sectionId(pageId, from + i) }))

export const visitFailed = (page: FrontierPage, error: string): Visit => ({
  ...nothing,
  page,
  errors: [{ id: page.url, error }]
})
/** The page was not requested from its host. */
export const visitSkipped = (page: FrontierPage, error?: { readonly id: string; readonly error: string }): Visit => ({
  ...nothing,
  page,
  isAsked: false,
  errors: error === undefined ? [] : [error]
})
/** The page has not changed. */
export const visitUnchanged = (page: FrontierPage, known: KnownPage | undefined): Visit => ({
  ...nothing,
  page,
  ...(known === undefined ? {} : { keep: { ...known, depth: page.depth, gone: 0 } })
})
/** Deletes the page's documents and its record: it has moved, or cannot be found. */
export const visitLeft = (
  page: FrontierPage,
  known: KnownPage | undefined,
  links: ReadonlyArray<FrontierPageFound> = []
): Visit => ({
  ...nothing,
  page,
  links,
  changes: deletions(page.page_id, 0, known?.documents ?? 0),
  isForgotten: known !== undefined
})
/** One miss may be temporary; two in a row mean that the page is gone. */
export const visitGone = (page: FrontierPage, known: KnownPage | undefined): Visit => {
  if (known === undefined) return visitFailed(page, "is not there (404 or 410)")
  return known.gone + 1 < GONE_MAX
    ? { ...nothing, page, keep: { ...known, gone: known.gone + 1 } }
    : visitLeft(page, known)
}

interface Arrived {
  readonly page: FrontierPage
  readonly known: KnownPage | undefined
  readonly read: PageRead
  readonly made: string
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}
export const visitRead = ({ etag, known, lastModified, made, page, read }: Arrived): Visit => {
  const links: Array<FrontierPageFound> = read.links.map((url) => ({ url, depth: page.depth + 1, hops: 0 }))
  if (read.documents.length === 0) {
    // The canonical page is visited instead of this copy.
    if (read.canonical !== undefined) links.unshift({ url: read.canonical, depth: page.depth, hops: page.hops + 1 })
    return { ...visitLeft(page, known, links), linksBeyond: read.linksBeyond }
  }
  const json = JSON.stringify(read.documents)
  const content_hash = createHash("sha256").update(json).digest("base64url")
  const isSame = known?.made === made && known.content_hash === content_hash
  const upserts = read.documents.map((document): IngestChange => ({ op: "upsert", document }))
  return {
    page,
    isAsked: true,
    changes: isSame ? [] : [...upserts, ...deletions(page.page_id, upserts.length, known?.documents ?? 0)],
    errors: [],
    keep: {
      page_id: page.page_id,
      url: page.url,
      made,
      etag: etag ?? null,
      last_modified: lastModified ?? null,
      content_hash,
      documents: upserts.length,
      depth: page.depth,
      gone: 0
    },
    links,
    linksBeyond: read.linksBeyond,
    bytes: isSame ? 0 : Buffer.byteLength(json)
  }
}
