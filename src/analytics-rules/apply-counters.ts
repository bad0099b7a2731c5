/**
 * Adds what counter rules counted to a field of the documents, each event once: a step stores what it is about to
 * write, and after a crash the field shows whether it was written (`counter-plan.ts`).
 */
import type { Document } from "@dowser/engine-sdk"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { counterStep } from "./counter-plan.ts"
import { DOCUMENTS_PER_WRITE, type Publishing, write } from "./publishing.ts"
import type { Counter, StoredRule } from "./rules-repository.ts"

/** How often documents that change between two reads are read again; then they wait for the next round. */
const LOOKS_MAX = 3

interface Settled {
  readonly document_id: string
  readonly applied: number
}
interface Write {
  readonly document_id: string
  readonly after: number
  readonly intended: number
}
interface Intent extends Write {
  readonly before: number
}

const numberOf = (value: unknown): number =>
  typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : 0

/** The value of the field in each document; undefined if the document does not exist. */
const valuesOf = (
  { engine }: Publishing,
  { organization_id, params }: StoredRule,
  collection: string,
  counters: ReadonlyArray<Counter>
) =>
  Effect.flatMap(
    Effect.promise(async () =>
      engine.get(
        organization_id,
        collection,
        counters.map(({ document_id }) => document_id)
      )
    ),
    (answer) =>
      answer.ok
        ? Effect.succeed(
            answer.value.map((document: Document | undefined) =>
              document === undefined ? undefined : numberOf(document[params.counter_field ?? ""])
            )
          )
        : Effect.fail({ message: answer.error.message })
  )

/** The next step of each counter. An intent of this batch is formed again if the field has changed since. */
const stepsOf = (
  counters: ReadonlyArray<Counter>,
  values: ReadonlyArray<number | undefined>,
  weight: number,
  isFirst: boolean
) => {
  const settled: Array<Settled> = []
  const writes: Array<Write> = []
  const intents: Array<Intent> = []
  for (const [i, counter] of counters.entries()) {
    const { document_id } = counter
    const isOurs = !isFirst && values[i] !== undefined && values[i] !== counter.before
    const step = counterStep(
      isOurs ? { ...counter, before: null, after: null, intended: null } : counter,
      values[i],
      weight
    )
    if (step.kind === "settle") settled.push({ document_id, applied: step.applied })
    else if (step.kind === "write") writes.push({ document_id, ...step })
    else intents.push({ document_id, before: step.before, after: step.after, intended: step.intended })
  }
  return { settled, writes, intents }
}

/** Writes the fields; a document that cannot be written is logged and skipped. */
const writeFields = Effect.fnUntraced(function* (
  parts: Publishing,
  { name, organization_id, params }: StoredRule,
  collection: string,
  writes: ReadonlyArray<Write>
) {
  const verdicts = yield* write(
    parts,
    organization_id,
    collection,
    writes.map(({ after, document_id }) => ({
      kind: "put",
      action: "update",
      dirtyValues: undefined,
      document: { id: document_id, [params.counter_field ?? ""]: after }
    }))
  )
  for (const [i, { result }] of verdicts.entries())
    if (!result.ok && result.error.kind !== "NotFound")
      yield* Effect.logWarning(
        `The analytics rule ${name} of ${organization_id} passes over ${writes[i]!.document_id}: ${result.error.message}`
      )
  return verdicts.map((_, i): Settled => ({ document_id: writes[i]!.document_id, applied: writes[i]!.intended }))
})

const applyBatch = Effect.fnUntraced(function* (
  parts: Publishing,
  rule: StoredRule,
  collection: string,
  rows: ReadonlyArray<Counter>
) {
  const { name, organization_id, params } = rule
  const { repository } = parts
  const settled: Array<Settled> = []
  /** Counters whose intent is stored; the field shows whether it was carried out. */
  let known = rows
  for (let look = 0; look < LOOKS_MAX && known.length > 0; look++) {
    const values = yield* valuesOf(parts, rule, collection, known)
    const steps = stepsOf(known, values, params.weight ?? 1, look === 0)
    settled.push(...steps.settled)
    if (steps.writes.length > 0) settled.push(...(yield* writeFields(parts, rule, collection, steps.writes)))
    if (steps.intents.length > 0) yield* repository.intend(organization_id, name, steps.intents)
    const byId = new Map(known.map((counter) => [counter.document_id, counter]))
    known = steps.intents.map((intent) => ({ ...byId.get(intent.document_id)!, ...intent }))
  }
  if (known.length > 0)
    yield* repository.forgetIntents(
      organization_id,
      name,
      known.map(({ document_id }) => document_id)
    )
  if (settled.length > 0) yield* repository.settle(organization_id, name, settled)
})

const applyCounters = Effect.fnUntraced(function* (parts: Publishing, rule: StoredRule, onlyIntended: boolean) {
  const collection = resolveCollection(parts.contextOf(rule.organization_id), rule.collection)
  if (collection === undefined) return
  for (let after = ""; ;) {
    const rows = yield* parts.repository.waitingCounters(
      rule.organization_id,
      rule.name,
      after,
      DOCUMENTS_PER_WRITE,
      onlyIntended
    )
    if (rows.length > 0) yield* applyBatch(parts, rule, collection.schema.name, rows)
    if (rows.length < DOCUMENTS_PER_WRITE) return
    after = rows[rows.length - 1]!.document_id
  }
})

/**
 * Applies the counters of one organization. Several may use one field: steps that an earlier round left unfinished
 * come first, and any failure ends the round for all, or the next write would hide whether the failed one happened.
 */
export const applyAll = (parts: Publishing, rules: ReadonlyArray<StoredRule>) =>
  Effect.forEach(
    [true, false],
    (onlyIntended) => Effect.forEach(rules, (rule) => applyCounters(parts, rule, onlyIntended), { discard: true }),
    { discard: true }
  )
