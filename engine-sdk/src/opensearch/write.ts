/**
 * Writes with a verdict for each operation. A batch is read, decided here by the same code as in every engine, and sent
 * on condition that nothing it read has changed; operations on documents that did change start again.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import { isObject, parseBounded } from "../documents/mod.ts"
import type { WriteOptions, WriteVerdict } from "../engine.ts"
import { type EngineError, fail, notFound, ok, type Result } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import { sendChanges, type Change, type Sent } from "./bulk.ts"
import { BATCH_BYTES_MAX } from "./capabilities.ts"
import type { ClusterClient } from "./client.ts"
import { withFields } from "./collections.ts"
import type { Counters } from "./counters.ts"
import { type Directory, type Entry } from "./directory.ts"
import { identityOf, type CollectionRecord } from "./record.ts"
import { fateOf } from "./move.ts"
import type { Refreshes } from "./refreshes.ts"
import { storedById, type StoredVersion } from "./scan.ts"
import { indexForm, type FormOf, type StoredForm } from "./stored-form.ts"
import { unfenced } from "./waiting-writes.ts"
import { WriteBatch, type BatchUse } from "./write-batch.ts"

/** Operations that are read, decided and sent together. */
const BATCH_OPERATIONS = 1_000
/** Maximum number of attempts at an operation, if another writer changed its document or the collection. */
const ATTEMPTS_MAX = 10

interface Parts {
  readonly client: ClusterClient
  readonly directory: Directory
  readonly counters: Counters
  readonly refreshes: Refreshes
  readonly dictionaries: Dictionaries
  /** Moves a collection to an index of its own. */ readonly promote: () => Promise<Result<unknown>>
}
interface Numbered {
  readonly operation: WriteOperation
  /** Its index among all operations. */ readonly at: number
  readonly id: string | undefined
  /** The verdict at the old placement, if it is repeated at the new one. */ readonly done?: WriteVerdict
}
/** A change of a document, with the version that it was decided on. */
interface DocumentChange extends Change {
  readonly before: StoredVersion | undefined
}

/** Returns once searches find everything that was written. */
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
/** Approximate size of an operation; objects are not serialized just for this. */
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
    // The words of a document take about as much space as its text, and so do their prefixes.
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

/** Returns the operations that must start again. `spare`: numbers to take beyond those certainly needed. */
const attemptBatch = async (
  parts: Parts,
  entry: Entry,
  batch: ReadonlyArray<Numbered>,
  { keeps, returnDocuments = false }: WriteOptions,
  verdicts: WriteVerdict[],
  spare: number
): Promise<Result<ReadonlyArray<Numbered>>> => {
  const { client, counters, directory } = parts
  const waited = await unfenced(directory, entry)
  if (!waited.ok) return waited
  const { record, revision } = entry
  const ids = [...new Set(batch.flatMap(({ id }) => id ?? []))]
  const [known, read] = await Promise.all([
    storedById(client, record.placement, ids),
    directory.reload(record.namespace, record.schema.name)
  ])
  if (!known.ok) return known
  if (!read.ok) return read
  // The collection was dropped, or created again, since this process read its record.
  if (directory.find(record.namespace, record.schema.name) !== entry) return fail(notFound("Collection not found"))
  // Changed by another process: the documents would lack its new fields, or be stored at the wrong placement.
  if (entry.revision._seq_no !== revision._seq_no) return ok(batch)
  const upcoming = batch.filter(
    ({ id, operation }) => operation.kind === "put" && (id === undefined || !known.value.has(id))
  )
  const numbers = upcoming.length + spare
  const first = numbers === 0 ? ok(0) : await counters.take(identityOf(record), numbers)
  if (!first.ok) return first
  const hasGenerated = upcoming.some(({ id }) => id === undefined)
  const made = hasGenerated ? await withNumbers(client, record.placement, known.value, first.value, numbers) : known
  if (!made.ok) return made
  const range = { first: first.value, end: first.value + numbers }
  const decided = new WriteBatch(record.schema, made.value, range, useOf(directory, entry), keeps)
  const verdictsNow = batch.map((one) => againAs(one, decided.apply(one.operation, one.id, returnDocuments)))
  if (decided.isShortOfNumbers) return ok(batch)
  const current =
    decided.schema === record.schema ? ok(record) : await widened(parts, { record, revision }, decided.schema)
  if (!current.ok) return current
  if (current.value === undefined) return ok(batch)
  return sendDecided(parts, entry, current.value, { batch, decided, verdictsNow, verdicts })
}
/** When a repeated deletion finds the document already gone, it counts as done. */
const againAs = ({ done, operation }: Numbered, verdict: WriteVerdict): WriteVerdict =>
  done !== undefined && operation.kind === "delete" && !verdict.result.ok && verdict.result.error.kind === "NotFound"
    ? done
    : verdict
/**
 * Saves the record with fields that documents added; undefined if the batch must start again. `record`: the version by
 * which the batch was decided. Later versions may have fields that `schema` lacks.
 */
const widened = async (
  { directory, promote }: Parts,
  { record, revision }: Pick<Entry, "record" | "revision">,
  schema: CollectionRecord["schema"]
): Promise<Result<CollectionRecord | undefined>> => {
  const next = await withFields({ directory }, record, schema)
  if (!next.ok) return next
  if (next.value === undefined) {
    const promoted = await promote()
    return promoted.ok || promoted.error.kind === "Conflict" ? ok(undefined) : promoted
  }
  const saved = await directory.save(next.value, revision)
  if (saved.ok) return ok(next.value)
  if (saved.error.kind !== "Conflict") return saved
  const reloaded = await directory.reload(record.namespace, record.schema.name)
  return reloaded.ok ? ok(undefined) : reloaded
}
interface Decided {
  readonly batch: ReadonlyArray<Numbered>
  readonly decided: WriteBatch
  readonly verdictsNow: ReadonlyArray<WriteVerdict>
  readonly verdicts: WriteVerdict[]
}
/** Sends a batch decided by a record, then checks that the collection has not moved. */
const sendDecided = async (
  parts: Parts,
  entry: Entry,
  record: CollectionRecord,
  { batch, decided, verdicts, verdictsNow }: Decided
): Promise<Result<ReadonlyArray<Numbered>>> => {
  const { client, dictionaries, directory } = parts
  const of: FormOf = { ...record, dictionaries }
  const changes = [...decided.changed.values()].map((state): DocumentChange => ({
    id: state.id,
    before: state.before,
    form: state.stored === undefined ? undefined : indexForm(of, state.stored, state.values)
  }))
  const sent = await sendChanges(client, record.placement, changes)
  if (!sent.ok) return sent
  const now = changes.length === 0 ? ok(record) : await recordBehind(directory, entry)
  if (!now.ok) return now
  const judged = judge(now.value, record, changes, sent.value)
  if (!judged.ok) return judged
  for (const change of judged.value.made) count(entry, change)
  return ok(settle(batch, verdictsNow, judged.value, verdicts))
}
/** The record after everything that was sent before the call has been applied. */
const recordBehind = async (directory: Directory, entry: Entry): Promise<Result<CollectionRecord>> => {
  const { namespace, schema } = entry.record
  const read = await directory.reload(namespace, schema.name)
  if (!read.ok) return read
  if (directory.find(namespace, schema.name) !== entry) return fail(notFound("Collection not found"))
  return unfenced(directory, entry)
}
interface Judged {
  readonly made: ReadonlyArray<DocumentChange>
  readonly failed: ReadonlyMap<string, EngineError>
  /** Applied at a placement that the collection left without them. */ readonly left: ReadonlySet<string>
}
/** Which changes count according to the current record. */
const judge = (
  now: CollectionRecord,
  { placement }: CollectionRecord,
  changes: ReadonlyArray<DocumentChange>,
  sent: ReadonlyArray<Sent>
): Result<Judged> => {
  const made: DocumentChange[] = []
  const failed = new Map<string, EngineError>()
  const left = new Set<string>()
  for (const [i, { change, error }] of sent.entries()) {
    const { id } = changes[i]
    if (error !== undefined) {
      failed.set(id, error)
      continue
    }
    switch (fateOf(now, placement, change)) {
      case "counts":
      case "carried":
        made.push(changes[i])
        break
      case "again":
        left.add(id)
        break
      default:
        return fail({
          kind: "Unavailable",
          message: "The collection was moved more than once meanwhile; whether this was stored is not known."
        })
    }
  }
  return ok({ made, failed, left })
}
/** Reads documents whose ids are numbers that are about to be assigned as ids. */
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
const count = (entry: Entry, { before, form }: DocumentChange): void => {
  const sizeOf = (stored: StoredForm | undefined): number =>
    stored === undefined ? 0 : stored.d.length + (stored.u?.length ?? 0)
  entry.documents += (form === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
  entry.bytes += (form === undefined ? 0 : Number(form.size)) - sizeOf(before?.form)
}
/** Stores the verdicts of a batch; returns the operations that conflicted or were left behind, to start again. */
const settle = (
  batch: ReadonlyArray<Numbered>,
  decided: ReadonlyArray<WriteVerdict>,
  { failed, left }: Judged,
  verdicts: WriteVerdict[]
): ReadonlyArray<Numbered> =>
  batch.flatMap((one, i) => {
    const verdict = decided[i]
    const { id, result } = verdict
    const error = id === undefined ? undefined : failed.get(id)
    if (error?.kind === "Conflict") return [one]
    if (id !== undefined && left.has(id)) return [{ ...one, done: verdict }]
    verdicts[one.at] = error === undefined || !result.ok ? verdict : { ...verdict, result: fail(error) }
    return []
  })
