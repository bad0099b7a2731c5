/** Synonym suggestions as they arise: visitors who search for a word, and then for another one. */
import type { Program, Tenant } from "./program.ts"
import { eventually } from "./receiver.ts"

/** `words`: what is searched in place of each term. Returns the id of each term's suggestion, in order. */
export const suggested = async (
  program: Program,
  { full_key: key, organization_id }: Omit<Tenant, "search_key">,
  collection: string,
  words: ReadonlyMap<string, string>
): Promise<ReadonlyArray<string>> => {
  const began = Date.now() - 60_000
  const search = (session_id: string, q: string, found: number, after_ms: number) => ({
    organization_id,
    query_id: `${session_id}-${found}`,
    collection,
    q,
    found,
    session_id,
    at: began + after_ms,
    isCounted: true
  })
  await program.answered(
    [...words].flatMap(([term, other]) =>
      ["1", "2", "3", "4"].flatMap((visitor) => [
        search(`${term}-${visitor}`, term, 0, 0),
        search(`${term}-${visitor}`, other, 3, 5_000)
      ])
    )
  )
  const path = `/v1/collections/${collection}/synonym_suggestions`
  const { body, text } = await program.request("POST", path, { key, body: {} })
  if (body.id === undefined) throw new Error(text)
  await eventually("suggestions", async () =>
    (await program.request("GET", `/v1/jobs/${body.id}`, { key })).body.status === "ready" ? true : undefined
  )
  const { data } = (await program.request("GET", path, { key })).body as {
    readonly data: ReadonlyArray<{ readonly id: string; readonly term: string }>
  }
  return [...words.keys()].map((term) => {
    const found = data.find((each) => each.term === term)
    if (found === undefined) throw new Error(`No suggestion for ${term}.`)
    return found.id
  })
}
