/** Reads documents by their ids: hundreds per request; ids that cannot be part of a list are requested one by one. */
import type { Dictionaries } from "../analysis/mod.ts"
import { isObject } from "../documents/json.ts"
import { fail, ok, type Result } from "../errors.ts"
import type { Selection } from "../plan.ts"
import type { Document } from "../schema.ts"
import type { Entry } from "./directory.ts"
import { filterText, isListable } from "./print-filters.ts"
import { Unprintable } from "./refusals.ts"
import { readResult } from "./read-answer.ts"
import { exportQuery, shownFields, shownPart } from "./scan.ts"
import { contextOf, type Parts } from "./search.ts"

const IDS_MAX = 250
const ROOM_MS = 10_000
const CUTOFF_MS = 10_000

export const documentsById = async (
  parts: Parts,
  entry: Entry,
  ids: ReadonlyArray<string>,
  selection: Selection | undefined,
  dictionaries: Dictionaries
): Promise<Result<ReadonlyArray<Document | undefined>>> => {
  const found = new Map<string, Document>()
  const listable = [...new Set(ids)].filter(isListable)
  const others = [...new Set(ids)].filter((id) => !isListable(id))
  for (let from = 0; from < listable.length; from += IDS_MAX) {
    const some = listable.slice(from, from + IDS_MAX)
    const read = await listed(parts, entry, some, selection, dictionaries)
    if (!read.ok) return read
    for (const document of read.value) found.set(String(document.id), document)
  }
  for (const id of others) {
    const read = await single(parts, entry, id, selection, dictionaries)
    if (!read.ok) return read
    if (read.value !== undefined) found.set(id, read.value)
  }
  return ok(
    ids.map((id) => {
      const document = found.get(id)
      return document === undefined ? undefined : shownPart(document, selection)
    })
  )
}

const listed = async (
  parts: Parts,
  entry: Entry,
  ids: ReadonlyArray<string>,
  selection: Selection | undefined,
  dictionaries: Dictionaries
): Promise<Result<ReadonlyArray<Document>>> => {
  const { client, gate, names } = parts
  const { info, namespace, serverName } = entry
  const context = contextOf(parts, namespace, info.schema.name, dictionaries)
  if (context === undefined) return fail({ kind: "NotFound", message: "Collection not found" })
  let search: object
  try {
    search = {
      collection: serverName,
      q: "*",
      filter_by: filterText({ kind: "ids", ids }, context),
      ...shownFields(selection, undefined, (name) => names.of(namespace, name), context),
      limit: ids.length,
      search_cutoff_ms: CUTOFF_MS,
      enable_analytics: false
    }
  } catch (error) {
    if (error instanceof Unprintable) return fail(error.error)
    throw error
  }
  const answer = await gate.through(namespace, ROOM_MS, () =>
    client.ask({ method: "POST", path: "/multi_search", body: { searches: [search] }, isRepeatable: true })
  )
  if (!answer.ok) return answer
  const [result] = isObject(answer.value) && Array.isArray(answer.value.results) ? answer.value.results : []
  const translate = (sentence: string): string => names.translate(namespace, sentence)
  const hits = readResult(result, translate, (body) => (body.search_cutoff === true ? undefined : body.hits))
  if (!hits.ok) return hits
  const documents = Array.isArray(hits.value)
    ? hits.value.flatMap((hit) => (isObject(hit) && isObject(hit.document) ? [hit.document as Document] : []))
    : undefined
  return documents === undefined
    ? fail({ kind: "Unavailable", message: "The search engine's server did not give all of the documents." })
    : ok(documents)
}
const single = async (
  parts: Parts,
  entry: Entry,
  id: string,
  selection: Selection | undefined,
  dictionaries: Dictionaries
): Promise<Result<Document | undefined>> => {
  const { client, gate } = parts
  const { info, namespace, serverName } = entry
  const query = exportQuery(
    parts,
    namespace,
    { collection: info.schema.name, filter: undefined, selection },
    dictionaries
  )
  if (!query.ok) return query
  const path = `/collections/${serverName}/documents/${encodeURIComponent(id)}${query.value}`
  const answer = await gate.through(namespace, ROOM_MS, () => client.ask({ method: "GET", path, isRepeatable: true }))
  if (!answer.ok) return answer.error.kind === "NotFound" ? ok(undefined) : answer
  return isObject(answer.value)
    ? ok(answer.value)
    : fail({ kind: "Unavailable", message: "The search engine's server answers something that is no document." })
}
