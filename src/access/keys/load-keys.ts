/** Brings keys from Postgres into memory: those that changed, or all of them, page by page. */
import { Effect, Fiber } from "effect"
import type { SqlError } from "effect/sql"
import type { Subject } from "../../configuration/change.ts"
import type { KeyStore } from "./key-store.ts"
import type { makeKeysRepository } from "./keys-repository.ts"

/** Rows of one statement when all keys are read. */
const KEYS_PAGE = 5_000

const lastId = (page: ReadonlyArray<{ readonly own: { readonly id: string } }>): string =>
  page.reduce((last, { own: { id } }) => (id > last ? id : last), "")

/**
 * Rows of keys stay for audit, so none has to be forgotten by its absence. All rows as the driver brings them would be
 * many times what stays of them, so they come by pages: the next one is read by Postgres while this one is packed.
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
      // Its statement is sent before this thread is busy.
      if (next !== undefined) yield* Effect.yieldNow
      for (const { own, shared } of page) keys.putParts(own, shared)
      if (next === undefined) return
      page = yield* Fiber.join(next)
    }
  })
