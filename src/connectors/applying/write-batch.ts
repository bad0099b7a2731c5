/**
 * Writing a batch to the engine, and what that says of each change. What the engine cannot take now (it is away, it is
 * busy, the collection is not there) is said of the whole batch, whose writes are tried again in the same order: an
 * upsert or a delete that was done already is done again. A document that it refuses fails alone.
 */
import type { EngineError, Result, WriteOperation, WriteVerdict } from "@dowser/engine-sdk"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { makeContexts } from "../../engine-plane/engine-plane.ts"
import type { Arrived } from "./decide.ts"

/** Of each change, in order: why it was refused; undefined where it is written. */
type Written =
  | { readonly kind: "written"; readonly refusals: ReadonlyArray<string | undefined> }
  | { readonly kind: "not now"; readonly reason: string; readonly after_s: number }

const LATER: ReadonlySet<EngineError["kind"]> = new Set(["Unavailable", "Overloaded", "TimedOut", "Damaged"])
const notNow = (error: EngineError): Written => ({
  kind: "not now",
  reason: error.message,
  after_s: error.kind === "Overloaded" ? error.retryAfterSeconds : 0
})
const operationOf = ({ change }: Arrived): WriteOperation =>
  change.op === "delete"
    ? { kind: "delete", id: change.external_id }
    : { kind: "put", action: "upsert", dirtyValues: undefined, document: change.document! }
/** What is not there needs no deletion. */
const refusalOf = ({ change }: Arrived, { result }: WriteVerdict): string | undefined =>
  result.ok || (change.op === "delete" && result.error.kind === "NotFound") ? undefined : result.error.message

const writtenOf = (changes: ReadonlyArray<Arrived>, answer: Result<ReadonlyArray<WriteVerdict>>): Written => {
  if (!answer.ok)
    return LATER.has(answer.error.kind) || answer.error.kind === "NotFound"
      ? notNow(answer.error)
      : { kind: "written", refusals: changes.map(() => answer.error.message) }
  for (const { result } of answer.value) if (!result.ok && LATER.has(result.error.kind)) return notNow(result.error)
  return { kind: "written", refusals: changes.map((change, i) => refusalOf(change, answer.value[i]!)) }
}

export const makeWriteBatch = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  return Effect.fnUntraced(function* (organizationId: string, name: string, changes: ReadonlyArray<Arrived>) {
    if (changes.length === 0) return { kind: "written", refusals: [] } satisfies Written
    const { engine, keeps, ...context } = contextOf(organizationId)
    const collection = resolveCollection({ engine, ...context }, name)
    if (collection === undefined)
      return { kind: "not now", reason: `Collection \`${name}\` does not exist.`, after_s: 0 } satisfies Written
    return yield* Effect.tryPromise(() =>
      engine.write(organizationId, collection.schema.name, changes.map(operationOf), { keeps })
    ).pipe(
      Effect.map((answer): Written => writtenOf(changes, answer)),
      Effect.catch((error) =>
        Effect.as(Effect.logError(`Pushes to ${name} could not be written`, error), {
          kind: "not now",
          reason: "Unexpected error.",
          after_s: 0
        } satisfies Written)
      )
    )
  })
})
