/**
 * All documents of a collection for a job, with some of their fields, page by page, with a pause after each page, so
 * that concurrent searches wait for one page at most.
 */
import { isAway } from "@dowser/engine-sdk/operations"
import { stringifyJson } from "@dowser/engine-sdk/documents"
import { Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { JobFailed } from "./job-worker.ts"

const PAGE = 200
const ATTEMPTS_MAX = 5
/** Pause relative to the duration of a page. */
const REST = 0.5
const REST_MAX_MS = 50

interface Asked {
  readonly organizationId: string
  readonly collection: string
  readonly fields: ReadonlyArray<string>
  readonly documentsMax: number
}

/** `page`: called with the JSON of each document, including its id. Returns their number. */
export const makeCollectionDocuments = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const pageAfter = Effect.fnUntraced(function* (
    { collection, fields, organizationId }: Asked,
    after: number | undefined
  ) {
    const { engine } = contextOf(organizationId)
    const selection = { include: ["id", ...fields], exclude: [], joins: [] }
    for (let attempt = 1; ; attempt++) {
      const found = yield* Effect.promise(async () =>
        engine.scan(organizationId, {
          collection,
          filter: undefined,
          selection,
          limit: PAGE,
          ...(after === undefined ? {} : { after })
        })
      )
      if (found.ok) return found.value
      if (!isAway(found.error) || attempt >= ATTEMPTS_MAX) return yield* new JobFailed({ message: found.error.message })
      yield* Effect.sleep(100 * 2 ** attempt)
    }
  })
  return Effect.fnUntraced(function* (
    asked: Asked,
    page: (lines: ReadonlyArray<string>, read: number) => Effect.Effect<void, JobFailed>
  ): Effect.fn.Return<number, JobFailed> {
    let read = 0
    for (let after: number | undefined; ;) {
      const began = performance.now()
      const { documents, next } = yield* pageAfter(asked, after)
      const lines = documents.slice(0, asked.documentsMax - read).map(stringifyJson)
      const took = performance.now() - began
      read += lines.length
      if (lines.length > 0) yield* page(lines, read)
      if (next === undefined || read >= asked.documentsMax) return read
      after = next
      yield* Effect.sleep(Math.min(REST_MAX_MS, REST * took))
    }
  })
})
