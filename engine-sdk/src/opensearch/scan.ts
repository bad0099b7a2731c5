/** Stored documents in insertion order, page by page, for exports and writes by filter; and documents by id. */
import { parseJson, select } from "../documents/mod.ts"
import type { ScanPage, ScanRequest } from "../engine.ts"
import { fail, ok, type Result } from "../errors.ts"
import type { Selection } from "../plan.ts"
import type { Document } from "../schema.ts"
import type { ClusterClient } from "./client.ts"
import { allOf, compileFilter, EVERYTHING } from "./compile-filter.ts"
import type { Entry } from "./directory.ts"
import { filterWithWords, type WordParts } from "./filter-words.ts"
import { ownFilter, storedId, type Placement } from "./placement.ts"
import { filterRefusal } from "./refusals.ts"
import { formOf, type StoredForm, type StoredHit, type StoredSource } from "./stored-form.ts"

/** Documents per request to the cluster. */
const PAGE = 500
/** Time limit for reading the words that stars in a filter stand for. */
const WORDS_MS = 10_000
/** Ids per request to the cluster. */
const IDS = 1_000

interface HitsAnswer {
  readonly hits: { readonly hits: ReadonlyArray<StoredHit> }
}

const pageOf = (
  client: ClusterClient,
  placement: Placement,
  filter: object,
  after: number | undefined,
  size: number
): Promise<Result<HitsAnswer>> =>
  client.ask({
    method: "POST",
    path: `/${placement.index}/_search?routing=${placement.key}&allow_partial_search_results=false`,
    body: {
      size,
      query: allOf([ownFilter(placement), filter]),
      sort: [{ seq: "asc" }],
      track_total_hits: false,
      ...(after === undefined ? {} : { search_after: [after] })
    },
    isRepeatable: true
  })

/**
 * Each page shows the collection at one moment; `after` continues where the previous page ended, whatever has changed.
 */
export const scanPage = async (
  parts: WordParts,
  entry: Entry,
  { filter: asked, after, limit, selection }: ScanRequest
): Promise<Result<ScanPage>> => {
  const { client } = parts
  const { placement, slots } = entry.record
  const chosen = asked === undefined ? ok(asked) : await filterWithWords(parts, entry, asked, WORDS_MS)
  if (!chosen.ok) return chosen
  const filter = chosen.value
  const refused = filterRefusal(filter, "filter_by")
  if (refused !== undefined) return fail(refused)
  const compiled = filter === undefined ? EVERYTHING : compileFilter({ placement, slots }, filter)
  const documents: Document[] = []
  const ids: string[] = []
  let last = after
  for (;;) {
    const size = Math.min(PAGE, limit - documents.length)
    // One more than requested, to see whether there is a next page.
    const page = await pageOf(client, placement, compiled, last, size + 1)
    if (!page.ok) return page
    const { hits } = page.value.hits
    for (const { _source } of hits.slice(0, size)) {
      const document = parseJson(formOf(_source).d) as Document
      documents.push(selection === undefined ? document : select(document, selection))
      ids.push(String(document.id))
      last = _source.seq
    }
    if (hits.length <= size) return ok({ documents, ids, next: undefined })
    if (documents.length >= limit) return ok({ documents, ids, next: last })
  }
}

/** A stored document with the revision that the cluster needs to replace it. */
export interface StoredVersion {
  readonly form: StoredForm
  readonly _seq_no: number
  readonly _primary_term: number
}
interface GotDocument {
  readonly found?: boolean
  readonly error?: { readonly reason?: string }
  readonly _seq_no: number
  readonly _primary_term: number
  readonly _source: StoredSource
}
/** Stored documents by id, current even if not yet visible to searches. */
export const storedById = async (
  client: ClusterClient,
  placement: Placement,
  ids: ReadonlyArray<string>
): Promise<Result<ReadonlyMap<string, StoredVersion>>> => {
  const known = new Map<string, StoredVersion>()
  for (let from = 0; from < ids.length; from += IDS) {
    const asked = ids.slice(from, from + IDS)
    const got = await client.ask<{ readonly docs: ReadonlyArray<GotDocument> }>({
      method: "POST",
      path: `/${placement.index}/_mget`,
      body: { docs: asked.map((id) => ({ _id: storedId(placement, id), routing: placement.key })) },
      isRepeatable: true
    })
    if (!got.ok) return got
    for (const [i, { found, error, _source, _seq_no, _primary_term }] of got.value.docs.entries()) {
      if (error !== undefined)
        return fail({ kind: "Unavailable", message: `A document cannot be read: ${error.reason ?? "no reason"}` })
      if (found === true) known.set(asked[i], { form: formOf(_source), _seq_no, _primary_term })
    }
  }
  return ok(known)
}
export const documentsById = async (
  client: ClusterClient,
  placement: Placement,
  ids: ReadonlyArray<string>,
  selection: Selection | undefined
): Promise<Result<ReadonlyArray<Document | undefined>>> => {
  const known = await storedById(client, placement, [...new Set(ids)])
  if (!known.ok) return known
  return ok(
    ids.map((id) => {
      const stored = known.value.get(id)
      if (stored === undefined) return undefined
      const document = parseJson(stored.form.d) as Document
      return selection === undefined ? document : select(document, selection)
    })
  )
}
