/**
 * Writing a batch of changes that nobody waits for to the engine, and what that says of each. What the engine cannot
 * take now (it is away, it is busy, the collection is not there) is said of the whole batch, whose writes are tried
 * again in the same order: an upsert or a delete that was done already is done again. A document that it refuses fails
 * alone.
 */
import type { DirtyValues, EngineError, Result, WriteAction, WriteOperation, WriteVerdict } from "@dowser/engine-sdk"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { makeContexts } from "./engine-plane.ts"

/** `isRewrite`: indexes again what is stored under the document's id, whatever the rest of it says. */
export type Change =
  | {
      readonly op: "upsert"
      /** Parsed, or as JSON text. */ readonly document: Readonly<Record<string, unknown>> | string
      readonly action?: WriteAction
      /** What becomes of values that are of another type than their field. */ readonly dirtyValues?: DirtyValues
      readonly isRewrite?: boolean
    }
  | { readonly op: "delete"; readonly id: string }

/** Of each change, in order: why it was refused; undefined where it is written. */
type Written =
  | { readonly kind: "written"; readonly refusals: ReadonlyArray<string | undefined> }
  | {
      readonly kind: "not now"
      readonly reason: string
      readonly after_s: number
      /** There is no such collection. */ readonly isMissing: boolean
    }

/** How often a batch that the engine cannot take is tried again, and how long each waits. */
export const RETRY_AFTER_MS = [1_000, 2_000, 4_000, 8_000, 16_000] as const

const LATER: ReadonlySet<EngineError["kind"]> = new Set(["Unavailable", "Overloaded", "TimedOut", "Damaged"])
const notNow = (error: EngineError): Written => ({
  kind: "not now",
  reason: error.message,
  after_s: error.kind === "Overloaded" ? error.retryAfterSeconds : 0,
  isMissing: error.kind === "NotFound"
})
const operationOf = (change: Change): WriteOperation =>
  change.op === "delete"
    ? { kind: "delete", id: change.id }
    : {
        kind: "put",
        action: change.action ?? "upsert",
        dirtyValues: change.dirtyValues,
        document: change.document,
        ...(change.isRewrite === true ? { rewrite: true } : {})
      }
/** What is not there needs no deletion, and cannot be indexed again. */
const needsDocument = (change: Change): boolean => change.op === "upsert" && change.isRewrite !== true
const refusalOf = (change: Change, { result }: WriteVerdict): string | undefined =>
  result.ok || (result.error.kind === "NotFound" && !needsDocument(change)) ? undefined : result.error.message

const writtenOf = (changes: ReadonlyArray<Change>, answer: Result<ReadonlyArray<WriteVerdict>>): Written => {
  if (!answer.ok)
    return LATER.has(answer.error.kind) || answer.error.kind === "NotFound"
      ? notNow(answer.error)
      : { kind: "written", refusals: changes.map(() => answer.error.message) }
  for (const { result } of answer.value) if (!result.ok && LATER.has(result.error.kind)) return notNow(result.error)
  return { kind: "written", refusals: changes.map((change, i) => refusalOf(change, answer.value[i]!)) }
}

export const makeWriteChanges = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  return Effect.fnUntraced(function* (organizationId: string, name: string, changes: ReadonlyArray<Change>) {
    if (changes.length === 0) return { kind: "written", refusals: [] } satisfies Written
    const { engine, keeps, ...context } = contextOf(organizationId)
    const collection = resolveCollection({ engine, ...context }, name)
    if (collection === undefined)
      return {
        kind: "not now",
        reason: `Collection \`${name}\` does not exist.`,
        after_s: 0,
        isMissing: true
      } satisfies Written
    return yield* Effect.tryPromise(() =>
      engine.write(organizationId, collection.schema.name, changes.map(operationOf), { keeps })
    ).pipe(
      Effect.map((answer): Written => writtenOf(changes, answer)),
      Effect.catch((error) =>
        Effect.as(Effect.logError(`Changes of ${name} could not be written`, error), {
          kind: "not now",
          reason: "Unexpected error.",
          after_s: 0,
          isMissing: false
        } satisfies Written)
      )
    )
  })
})
