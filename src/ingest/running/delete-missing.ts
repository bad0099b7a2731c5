/**
 * Deletes the documents that a complete pass did not contain, if its job requests that (`full: true`), whoever wrote
 * them. Counts first, and refuses if more than three in ten would go, which is more often a broken feed than a closing
 * shop.
 *
 * An interrupted deletion starts over: deleted documents stay deleted, so the share of missing documents only shrinks.
 */
import type { ScanPage } from "@dowser/engine-sdk"
import { Effect } from "effect"
import { makeContexts } from "../../engine-plane/engine-plane.ts"
import { makeWriteChanges } from "../../engine-plane/write-changes.ts"
import { IngestFailed, IngestLater } from "../sources/source.ts"
import type { SeenIds } from "./seen-ids.ts"

const PAGE_DOCUMENTS = 500
const MISSING_SHARE_MAX = 0.3
const AGAIN_S = 2

/** Why missing documents are kept; undefined if they are deleted. Pure. */
export const guardOf = (missing: number, total: number): string | undefined =>
  missing <= MISSING_SHARE_MAX * total
    ? undefined
    : `${missing} of ${total} documents are missing in this pass, more than 30 %, and were not deleted. Where that is meant, start the job again with \`confirm_deletes: true\` in its config.`

interface Missing {
  readonly organizationId: string
  readonly collection: string
  readonly seen: SeenIds
  readonly isConfirmed: boolean
}

export const makeDeleteMissing = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const write = yield* makeWriteChanges
  const pageAfter = Effect.fnUntraced(function* (
    organizationId: string,
    collection: string,
    after: number | undefined
  ) {
    const { engine } = contextOf(organizationId)
    const page = yield* Effect.promise(async () =>
      engine.scan(organizationId, {
        collection,
        filter: undefined,
        limit: PAGE_DOCUMENTS,
        ...(after === undefined ? {} : { after })
      })
    )
    if (page.ok) return page.value
    if (page.error.kind === "NotFound") return yield* new IngestFailed({ message: page.error.message })
    return yield* new IngestLater({ message: page.error.message, after_s: AGAIN_S })
  })
  const eachPage = Effect.fnUntraced(function* <E>(
    { collection, organizationId }: Missing,
    visit: (page: ScanPage) => Effect.Effect<void, E>
  ) {
    for (let after: number | undefined; ;) {
      const page = yield* pageAfter(organizationId, collection, after)
      yield* visit(page)
      if (page.next === undefined) return
      after = page.next
    }
  })
  /** Calls `deleted` with the number of deleted documents of each page. */
  return Effect.fnUntraced(function* <E>(missing: Missing, deleted: (n: number) => Effect.Effect<void, E>) {
    const { collection, isConfirmed, organizationId, seen } = missing
    const missingIn = ({ ids }: ScanPage) => ids.filter((id) => !seen.has(id))
    let total = 0,
      gone = 0
    yield* eachPage(missing, (page) =>
      Effect.sync(() => {
        total += page.ids.length
        gone += missingIn(page).length
      })
    )
    if (gone === 0) return
    const guard = isConfirmed ? undefined : guardOf(gone, total)
    if (guard !== undefined) return yield* new IngestFailed({ message: guard })
    yield* eachPage(missing, (page) =>
      Effect.gen(function* () {
        const ids = missingIn(page)
        if (ids.length === 0) return
        const written = yield* write(
          organizationId,
          collection,
          ids.map((id) => ({ op: "delete", id }))
        )
        if (written.kind === "not now")
          return yield* new IngestLater({ message: written.reason, after_s: Math.max(AGAIN_S, written.after_s) })
        yield* deleted(ids.length)
      })
    )
  })
})
