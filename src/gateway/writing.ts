/** Stores and deletes documents for connectors. */
import { statusOf } from "@dowser/engine-sdk"
import { Effect } from "effect"
import type { EngineFailure } from "../engine-plane/engine-errors.ts"
import { failureOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { writable } from "../engine-plane/reached.ts"
import { Engine } from "../ports/engine/engine.ts"
import { textOf } from "../http/body.ts"
import type { CommonRefusal } from "../http/refusals.ts"
import type { Handler } from "../api/implement.ts"
import { type DocumentVerdicts, isWrites, verdictsOf, type Writes } from "./documents.ts"

import { type InIndex, makeIndexOf, mismatch, refused } from "./asking.ts"

export const makeWriting = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const engine = yield* Engine
  const indexOf = yield* makeIndexOf
  const writing = (
    writesOf: (text: string) => Writes,
    mayWrite: typeof writable
  ): Handler<
    unknown,
    unknown,
    DocumentVerdicts,
    InIndex,
    CommonRefusal<"connector_write"> | EngineFailure,
    "connector_write"
  > =>
    Effect.fnUntraced(function* ({ bytes, caller, params }) {
      const collection = yield* indexOf(caller, params.collectionName)
      yield* mayWrite(contextOf(caller.organizationId), caller, params.collectionName)
      const writes = writesOf(textOf(yield* bytes))
      if (!isWrites(writes)) return yield* refused(writes)
      const written = yield* Effect.promise(() =>
        engine.write(caller.organizationId, collection.schema.name, writes, {
          keeps: contextOf(caller.organizationId).keeps
        })
      )
      if (written.ok) return verdictsOf(writes, written.value)
      // If it was dropped after the look-up, the response is the same as if it had been dropped before.
      return yield* Effect.fail(statusOf(written.error) === 404 ? mismatch : failureOf(written.error))
    })
  return writing
})
