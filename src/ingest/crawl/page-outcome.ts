/**
 * What a page's visit changes: documents to write and to delete, what is remembered of the page, where it leads. Pure.
 */
import { createHash } from "node:crypto"
import type { IngestChange } from "../sources/source.ts"
import type { FrontierPage, KnownPage } from "./crawl-repository.ts"
import { sectionId } from "./page-url.ts"
import type { PageRead } from "./reading/page-documents.ts"

/** Crawls in a row that do not find a page before its documents go. */
const GONE_MAX = 2

export interface Visit {
  readonly page: FrontierPage
  /** Whether its host was asked for it. */ readonly isAsked: boolean
  readonly changes: ReadonlyArray<IngestChange>
  readonly errors: ReadonlyArray<{ readonly id: string; readonly error: string }>
  /** What is remembered from now on; nothing where it is as it was. */ readonly keep?: KnownPage | undefined
  readonly isForgotten?: boolean | undefined
  readonly links: ReadonlyArray<FrontierPageFound>
  readonly linksBeyond: number
  /** Of the changes, as JSON, about. */ readonly bytes: number
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
/** Its host was not asked for it. */
export const visitSkipped = (page: FrontierPage, error?: { readonly id: string; readonly error: string }): Visit => ({
  ...nothing,
  page,
  isAsked: false,
  errors: error === undefined ? [] : [error]
})
/** It is as it was. */
export const visitUnchanged = (page: FrontierPage, known: KnownPage | undefined): Visit => ({
  ...nothing,
  page,
  ...(known === undefined ? {} : { keep: { ...known, depth: page.depth, gone: 0 } })
})
/** What it had goes, and it is not looked for again: it lies elsewhere now, or is not to be found. */
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
/** Once may be a moment; twice is gone. */
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
    // The page that it is a copy of stands for it.
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
