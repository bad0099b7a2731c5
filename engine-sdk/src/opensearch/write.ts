/**
 * Writes with a verdict for each operation. A batch is read, decided here by the same code as in every engine, and sent
 * on the condition that nobody changed what was read; operations on documents that somebody did change begin again.
 */
import type { Dictionaries } from "../analysis/analyzer.ts"
import { isObject, parseBounded } from "../documents/mod.ts"
import type { WriteOptions, WriteVerdict } from "../engine.ts"
import { type EngineError, fail, notFound, ok, type Result } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import { sendChanges, type Change } from "./bulk.ts"
import { BATCH_BYTES_MAX } from "./capabilities.ts"
import type { ClusterClient } from "./client.ts"
import { withFields } from "./collections.ts"
import type { Counters } from "./counters.ts"
import type { Directory, Entry } from "./directory.ts"
import type { Refreshes } from "./refreshes.ts"
import { storedById, type StoredVersion } from "./scan.ts"
import { indexForm, type FormOf } from "./stored-form.ts"
import { WriteBatch, type BatchUse } from "./write-batch.ts"

/** Operations that are read, decided and sent together. */
const BATCH_OPERATIONS = 1_000
/** Times that operations begin again because somebody else changed their documents. */
const ATTEMPTS_MAX = 6

interface Parts {
  readonly client: ClusterClient
  readonly directory: Directory
  readonly counters: Counters
  readonly refreshes: Refreshes
  readonly dictionaries: Dictionaries
}
interface Numbered {
  readonly operation: WriteOperation
  /** Its place among all operations. */ readonly at: number
  readonly id: string | undefined
}

/** Answers when everything that was written is found. */
export const writeOperations = async (
  parts: Parts,
  entry: Entry,
  operations: ReadonlyArray<WriteOperation>,
  options: WriteOptions
): Promise<Result<ReadonlyArray<WriteVerdict>>> => {
  const verdicts: WriteVerdict[] = new Array(operations.length)
  entry.writing++
  try {
    for (const batch of batchesOf(operations)) {
      const written = await writeBatch(parts, entry, batch, options, verdicts)
      if (!written.ok) return written
    }
    const seen = await parts.refreshes.visible(entry.record.placement.index)
    return seen.ok ? ok(verdicts) : seen
  } finally {
    entry.writing--
    entry.written++
  }
}

const idOf = (operation: WriteOperation): string | undefined => {
  if (operation.id !== undefined) return operation.id
  const { document } = operation as Extract<WriteOperation, { kind: "put" }>
  const isText = typeof document === "string" || document instanceof Uint8Array
  const parsed = isText
    ? parseBounded(typeof document === "string" ? document : new TextDecoder().decode(document))
    : { value: document as unknown }
  return typeof parsed === "object" && isObject(parsed.value) && typeof parsed.value.id === "string"
    ? parsed.value.id
    : undefined
}
/** About what a document weighs; objects are not written out for this alone. */
const weightOf = (operation: WriteOperation): number => {
  if (operation.kind === "delete") return 64
  const { document } = operation
  return typeof document === "string" || document instanceof Uint8Array ? document.length : 2_048
}
function* batchesOf(operations: ReadonlyArray<WriteOperation>): Generator<Numbered[], void> {
  let batch: Numbered[] = [],
    bytes = 0
  for (const [at, operation] of operations.entries()) {
    batch.push({ operation, at, id: idOf(operation) })
    bytes += weightOf(operation)
    // Beside a document lie its words, about as long again, and their beginnings.
    if (batch.length < BATCH_OPERATIONS && bytes * 4 < BATCH_BYTES_MAX) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

const writeBatch = async (
  parts: Parts,
  entry: Entry,
  batch: ReadonlyArray<Numbered>,
  options: WriteOptions,
  verdicts: WriteVerdict[]
): Promise<Result<void>> => {
  let rest = batch
  for (let attempt = 0; attempt < ATTEMPTS_MAX && rest.length > 0; attempt++) {
    const again = await attemptBatch(parts, entry, rest, options, verdicts, attempt * BATCH_OPERATIONS)
    if (!again.ok) return again
    rest = again.value
  }
  for (const { at, id } of rest)
    verdicts[at] = {
      ...(id === undefined ? {} : { id }),
      result: fail({
        kind: "Overloaded",
        message: "Others write to this document all the time.",
        retryAfterSeconds: 1
      })
    }
  return ok(undefined)
}

/** Answers the operations that must begin again. `spare`: numbers beside those that are surely needed. */
const attemptBatch = async (
  parts: Parts,
  entry: Entry,
  batch: ReadonlyArray<Numbered>,
  { keeps, returnDocuments = false }: WriteOptions,
  verdicts: WriteVerdict[],
  spare: number
): Promise<Result<ReadonlyArray<Numbered>>> => {
  const { client, counters, directory, dictionaries } = parts
  const { record, revision } = entry
  const ids = [...new Set(batch.flatMap(({ id }) => id ?? []))]
  const [known, read] = await Promise.all([
    storedById(client, record.placement, ids),
    directory.reload(record.namespace, record.schema.name)
  ])
  if (!known.ok) return known
  if (!read.ok) return read
  // Dropped, or made again, since this process heard of it.
  if (directory.find(record.namespace, record.schema.name) !== entry) return fail(notFound("Collection not found"))
  // Changed by another process: the documents would not be found by its new fields.
  if (entry.revision._seq_no !== revision._seq_no) return ok(batch)
  const upcoming = batch.filter(
    ({ id, operation }) => operation.kind === "put" && (id === undefined || !known.value.has(id))
  )
  const numbers = upcoming.length + spare
  const first = numbers === 0 ? ok(0) : await counters.take(record.placement.key, numbers)
  if (!first.ok) return first
  const hasGenerated = upcoming.some(({ id }) => id === undefined)
  const made = hasGenerated ? await withNumbers(client, record.placement, known.value, first.value, numbers) : known
  if (!made.ok) return made
  const range = { first: first.value, end: first.value + numbers }
  const decided = new WriteBatch(record.schema, made.value, range, useOf(directory, entry), keeps)
  const verdictsNow = batch.map(({ operation, id }) => decided.apply(operation, id, returnDocuments))
  if (decided.isShortOfNumbers) return ok(batch)
  if (decided.schema !== record.schema) {
    const next = await withFields({ directory }, record, decided.schema)
    if (!next.ok) return next
    const saved = await directory.save(next.value, revision)
    if (!saved.ok) {
      if (saved.error.kind !== "Conflict") return saved
      const reloaded = await directory.reload(record.namespace, record.schema.name)
      return reloaded.ok ? ok(batch) : reloaded
    }
  }
  const of: FormOf = { ...entry.record, dictionaries }
  const changes = [...decided.changed.values()].map((state): Change => ({
    id: state.id,
    before: state.before,
    form: state.stored === undefined ? undefined : indexForm(of, state.stored, state.values)
  }))
  const sent = await sendChanges(client, record.placement, changes)
  if (!sent.ok) return sent
  const failed = new Map<string, EngineError>()
  for (const [i, error] of sent.value.entries())
    if (error !== undefined) failed.set(changes[i].id, error)
    else count(entry, changes[i])
  return ok(settle(batch, verdictsNow, failed, verdicts))
}
/** Numbers that become ids of documents without one, which somebody may have used. */
const withNumbers = async (
  client: ClusterClient,
  placement: FormOf["placement"],
  known: ReadonlyMap<string, StoredVersion>,
  first: number,
  count: number
): ReturnType<typeof storedById> => {
  const numbers = Array.from({ length: count }, (_number, i) => String(first + i))
  const others = await storedById(client, placement, numbers)
  return others.ok ? ok(new Map([...others.value, ...known])) : others
}
const useOf = (directory: Directory, { record }: Entry): BatchUse => {
  let documents = 0,
    bytes = 0
  for (const other of directory.list(record.namespace)) {
    documents += other.documents
    bytes += other.bytes
  }
  return { documents, bytes }
}
const count = (entry: Entry, { before, form }: Change): void => {
  const sizeOf = (stored: { readonly d: string; readonly u?: string } | undefined): number =>
    stored === undefined ? 0 : stored.d.length + (stored.u?.length ?? 0)
  entry.documents += (form === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
  entry.bytes += (form === undefined ? 0 : Number(form.size)) - sizeOf(before?.form)
}
/** Verdicts of what was sent; what met somebody else's change begins again. */
const settle = (
  batch: ReadonlyArray<Numbered>,
  decided: ReadonlyArray<WriteVerdict>,
  failed: ReadonlyMap<string, EngineError>,
  verdicts: WriteVerdict[]
): ReadonlyArray<Numbered> =>
  batch.filter((one, i) => {
    const verdict = decided[i]
    const error = verdict.id === undefined ? undefined : failed.get(verdict.id)
    if (error?.kind === "Conflict") return true
    verdicts[one.at] = error === undefined || !verdict.result.ok ? verdict : { ...verdict, result: fail(error) }
    return false
  })
