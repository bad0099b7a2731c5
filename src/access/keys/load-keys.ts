/** Loads keys from Postgres into memory: the changed ones, or all, page by page. */
import { Effect, Fiber } from "effect"
import type { SqlError } from "effect/sql"
import type { Subject } from "../../configuration/change.ts"
import type { KeyStore } from "./key-store.ts"
import type { makeKeysRepository } from "./keys-repository.ts"

/** Rows per statement when all keys are read. */
const KEYS_PAGE = 5_000

const lastId = (page: ReadonlyArray<{ readonly own: { readonly id: string } }>): string =>
  page.reduce((last, { own: { id } }) => (id > last ? id : last), "")

/**
 * Rows of keys are kept for audit, so a missing row never has to be handled. The driver's rows are many times larger
 * than the packed ones, so they are read in pages; Postgres reads the next page while one is packed.
 */
export const loadKeys = (repository: Effect.Success<typeof makeKeysRepository>, keys: KeyStore) =>
  Effect.fnUntraced(function* (subjects: ReadonlyArray<Subject> | "all"): Effect.fn.Return<void, SqlError.SqlError> {
    if (subjects !== "all") {
      for (const key of yield* repository.keys(subjects)) keys.put(key)
      return
    }
    keys.reserve(yield* repository.keysCount)
    for (let page = yield* repository.keysPage({ after: "", rowsMax: KEYS_PAGE }); page.length > 0;) {
      const isLast = page.length < KEYS_PAGE
      const next = isLast
        ? undefined
        : yield* Effect.forkChild(repository.keysPage({ after: lastId(page), rowsMax: KEYS_PAGE }), {
            startImmediately: true
          })
      // Yields so that the next page's statement is sent before this thread is busy.
      if (next !== undefined) yield* Effect.yieldNow
      for (const { own, shared } of page) keys.putParts(own, shared)
      if (next === undefined) return
      page = yield* Fiber.join(next)
    }
  })
