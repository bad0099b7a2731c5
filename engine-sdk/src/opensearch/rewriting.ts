/** Documents written anew from what is stored, when their schema gave them other places. */
import type { Dictionaries } from "../analysis/analyzer.ts"
import { flatten } from "../documents/mod.ts"
import type { Namespace } from "../engine.ts"
import { fail, ok, type Result } from "../errors.ts"
import { sendChanges } from "./bulk.ts"
import type { ClusterClient } from "./client.ts"
import type { Entry } from "./directory.ts"
import type { Refreshes } from "./refreshes.ts"
import { storedById, storedPages } from "./scan.ts"
import { documentOf, indexForm, type StoredForm } from "./stored-form.ts"

/** Looks for documents of an older version: processes that hear late of a change write some. */
const LOOKS_MAX = 5

export class Rewriting {
  readonly #client: ClusterClient
  readonly #refreshes: Refreshes
  readonly #dictionaries: (namespace: Namespace) => Dictionaries
  constructor(client: ClusterClient, refreshes: Refreshes, dictionaries: (namespace: Namespace) => Dictionaries) {
    this.#client = client
    this.#refreshes = refreshes
    this.#dictionaries = dictionaries
  }
  /** Until none is older than the schema. A document that changes meanwhile is written by whoever changes it. */
  async all(entry: Entry): Promise<Result<void>> {
    const { placement, version } = entry.record
    const older = { range: { v: { lt: version } } }
    for (let look = 0; look < LOOKS_MAX; look++) {
      const seen = await this.#refreshes.visible(placement.index)
      if (!seen.ok) return seen
      let found = 0
      for await (const page of storedPages(this.#client, placement, older)) {
        if (!page.ok) return page
        found += page.value.length
        const written = await this.#page(entry, page.value)
        if (!written.ok) return written
      }
      if (found === 0) return ok(undefined)
    }
    return fail({
      kind: "Unavailable",
      message: "The collection is written to by processes that do not know its new schema yet."
    })
  }
  async #page({ record }: Entry, page: ReadonlyArray<StoredForm>): Promise<Result<unknown>> {
    const { namespace, placement, schema, slots, version } = record
    const of = { schema, slots, placement, version, dictionaries: this.#dictionaries(namespace) }
    const ids = page.map((stored) => String(documentOf(stored).id))
    const now = await storedById(this.#client, placement, ids)
    if (!now.ok) return now
    const changes = ids.flatMap((id) => {
      const before = now.value.get(id)
      if (before === undefined) return []
      return [{ id, before, form: indexForm(of, before.form, flatten(schema, documentOf(before.form))) }]
    })
    const sent = await sendChanges(this.#client, placement, changes)
    if (!sent.ok) return sent
    const failed = sent.value.find((error) => error !== undefined && error.kind !== "Conflict")
    return failed === undefined ? ok(undefined) : fail(failed)
  }
}
