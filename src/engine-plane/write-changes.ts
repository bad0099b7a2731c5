/**
 * Writes a batch of changes to the engine in the background, and returns the result of each. If the engine cannot
 * take the batch now (it is unavailable or busy, or the collection is missing), the entire batch is retried in the
 * same order: repeating an upsert or a delete is harmless. A document that it refuses fails alone.
 */
import type { DirtyValues, EngineError, Result, WriteAction, WriteOperation, WriteVerdict } from "@dowser/engine-sdk"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { makeContexts } from "./engine-plane.ts"

/** `isRewrite`: re-indexes the stored document with this id, ignoring the rest. */
export type Change =
  | {
      readonly op: "upsert"
      /** Parsed, or as JSON text. */ readonly document: Readonly<Record<string, unknown>> | string
      readonly action?: WriteAction
      /** How values that do not have the type of their field are treated. */ readonly dirtyValues?: DirtyValues
      readonly isRewrite?: boolean
    }
  | { readonly op: "delete"; readonly id: string }

/** For each change, in order: why it was refused; undefined if it was written. */
type Written =
  | { readonly kind: "written"; readonly refusals: ReadonlyArray<string | undefined> }
  | {
      readonly kind: "not now"
      readonly reason: string
      readonly after_s: number
      /** The collection does not exist. */ readonly isMissing: boolean
    }

/** How often a batch that the engine cannot take is retried, and the pauses. */
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
/** A missing document needs no deletion, and cannot be re-indexed. */
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
