/**
 * Writes. Consecutive operations of one kind are sent together, batch after batch, so that they take effect in the
 * order given. A batch that was lost is sent to the next node only if sending it twice has the same effect as sending
 * it once: documents with an id that are put regardless of what was stored.
 */
import { isObject, parseBounded, parseDocument, parseJson, stringifyJson } from "../documents/json.ts"
import type { Namespace, WriteOptions, WriteVerdict } from "../engine.ts"
import { capReached, type EngineError, fail, invalid, ok, type Result } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import type { Document } from "../schema.ts"
import { exceeds } from "../store/namespace-use.ts"
import { errorOf } from "./client.ts"
import type { Entry } from "./directory.ts"
import type { Parts } from "./search.ts"

const BATCH_LINES_MAX = 1_000
const BATCH_CHARACTERS_MAX = 4 * 1_048_576
const DELETES_AT_ONCE = 8
const WRITE_MS = 110_000
const ROOM_MS = 10_000

type Put = Extract<WriteOperation, { readonly kind: "put" }>
/** The index of an operation in the write, and its JSON line. */
interface Line {
  readonly at: number
  readonly text: string
  readonly hasId: boolean
}
interface Writing extends Parts {
  readonly namespace: Namespace
  readonly entry: Entry
  readonly options: WriteOptions
  readonly verdicts: Array<WriteVerdict>
}

const decoder = new TextDecoder()
const WITH_ID = /^\s*\{\s*"id"\s*:\s*"/
/** One line; a text with several lines, or one whose id is given separately, is parsed and serialized again. */
const lineOf = (operation: Put, at: number): Result<Line> => {
  const { document, id } = operation
  const text = document instanceof Uint8Array ? decoder.decode(document) : document
  const isLine = typeof text === "string" && id === undefined && operation.rewrite !== true
  if (isLine && text.trim() !== "" && !/[\r\n]/.test(text)) return ok({ at, text, hasId: WITH_ID.test(text) })
  const parsed = typeof text === "string" ? parseDocument(text) : ok(text)
  if (!parsed.ok) return parsed
  const own = parsed.value
  if (id !== undefined && own.id !== undefined && own.id !== id)
    return fail(invalid("The `id` of the resource does not match the `id` in the JSON body."))
  const known = own.id ?? id
  // A rewrite indexes what is stored, whatever was given.
  const whole = operation.rewrite === true ? { id: known } : id === undefined ? own : { ...own, id }
  return ok({ at, text: stringifyJson(whole), hasId: typeof known === "string" })
}
const actionOf = ({ action, rewrite }: Put): Put["action"] => (rewrite === true ? "update" : action)
const kindOf = (operation: WriteOperation): string =>
  operation.kind === "delete" ? "delete" : JSON.stringify([actionOf(operation), operation.dirtyValues])

/** Returns one verdict per operation, in order. Every later search through any node sees an acknowledged operation. */
export const writeOperations = async (
  parts: Parts,
  entry: Entry,
  operations: ReadonlyArray<WriteOperation>,
  options: WriteOptions
): Promise<Result<ReadonlyArray<WriteVerdict>>> => {
  const { directory, gate } = parts
  const { info, namespace } = entry
  const capped = capOf(parts, entry, operations, options)
  if (capped !== undefined) return ok(operations.map(() => ({ result: fail(capped) })))
  const writing: Writing = { ...parts, namespace, entry, options, verdicts: [] }
  const written = await gate.through(namespace, ROOM_MS, async () => {
    for (let from = 0; from < operations.length;) {
      const kind = kindOf(operations[from]!)
      let to = from + 1
      while (to < operations.length && kindOf(operations[to]!) === kind) to++
      const run = operations.slice(from, to)
      if (kind === "delete") await deleteRun(writing, run, from)
      else await putRun(writing, run as ReadonlyArray<Put>, from)
      from = to
    }
    return ok(undefined)
  })
  if (!written.ok) return written
  // Updates counts and detected fields; if reading them fails, what was written is not undone.
  await directory.reload(namespace, info.schema.name)
  return ok(writing.verdicts)
}
/**
 * The namespace's caps, checked against the counts of the last read. The server has no such limits, so processes that
 * write at the same time may exceed them by what they write in the meantime.
 */
const capOf = (
  { directory }: Parts,
  { namespace }: Entry,
  operations: ReadonlyArray<WriteOperation>,
  { keeps }: WriteOptions
): EngineError | undefined => {
  if (keeps?.documents === undefined || operations.every(({ kind }) => kind === "delete")) return undefined
  const stored = directory.list(namespace).reduce((sum, { info }) => sum + info.num_documents, 0)
  const adds = operations.filter((one) => one.kind === "put" && one.action !== "update").length
  return adds > 0 && exceeds(keeps.documents, stored + adds) ? capReached("documents", keeps) : undefined
}

const putRun = async (writing: Writing, run: ReadonlyArray<Put>, from: number): Promise<void> => {
  const first = run[0]!
  let batch: Array<Line> = []
  let characters = 0
  const flush = async (): Promise<void> => {
    const lines = batch
    batch = []
    characters = 0
    if (lines.length > 0) await importBatch(writing, first, lines)
  }
  for (const [i, operation] of run.entries()) {
    const line = lineOf(operation, from + i)
    if (!line.ok) {
      writing.verdicts[from + i] = { ...(operation.id === undefined ? {} : { id: operation.id }), result: line }
      continue
    }
    batch.push(line.value)
    characters += line.value.text.length
    if (batch.length >= BATCH_LINES_MAX || characters >= BATCH_CHARACTERS_MAX) await flush()
  }
  await flush()
}
const importBatch = async (writing: Writing, put: Put, lines: ReadonlyArray<Line>): Promise<void> => {
  const { client, entry, options, verdicts } = writing
  const query = new URLSearchParams({ action: actionOf(put), return_id: "true" })
  if (put.dirtyValues !== undefined) query.set("dirty_values", put.dirtyValues)
  if (options.returnDocuments === true) query.set("return_doc", "true")
  const isPut = actionOf(put) !== "create"
  const answer = await client.text({
    method: "POST",
    path: `/collections/${entry.serverName}/documents/import?${query}`,
    body: lines.map(({ text }) => text).join("\n"),
    timeout_ms: WRITE_MS,
    isRepeatable: isPut && lines.every(({ hasId }) => hasId)
  })
  const answerLines = answer.ok ? answer.value.split("\n").filter((line) => line !== "") : []
  const isWhole = answerLines.length === lines.length
  for (const [i, { at }] of lines.entries())
    verdicts[at] = answer.ok ? (isWhole ? verdictOf(writing, answerLines[i]!) : { result: LOST }) : { result: answer }
}
const LOST: Result<never> = fail({
  kind: "Unavailable",
  message: "The search engine's server answered another number of documents; whether this one was written is not known."
})
const verdictOf = ({ names, namespace, options }: Writing, line: string): WriteVerdict => {
  const parsed = parseBounded(line, undefined, parseJson)
  const outcome = typeof parsed === "object" ? parsed.value : undefined
  if (!isObject(outcome)) return { result: LOST }
  const id = typeof outcome.id === "string" ? { id: outcome.id } : {}
  if (outcome.success !== true) {
    const message = typeof outcome.error === "string" ? names.translate(namespace, outcome.error) : ""
    return { ...id, result: fail(errorOf(typeof outcome.code === "number" ? outcome.code : 500, message)) }
  }
  const document = options.returnDocuments === true ? documentOf(outcome.document) : undefined
  if (id.id === undefined || (options.returnDocuments === true && document === undefined)) return { result: LOST }
  return { ...id, result: ok({ id: id.id, changed: true, ...(document === undefined ? {} : { document }) }) }
}
/** Some servers return a document as the text that they received. */
const documentOf = (given: unknown): Document | undefined => {
  if (isObject(given)) return given
  const parsed = typeof given === "string" ? parseDocument(given) : undefined
  return parsed?.ok === true ? parsed.value : undefined
}

/** Deletes several documents concurrently; if two operations name the same id, the second is sent after the first. */
const deleteRun = async (writing: Writing, run: ReadonlyArray<WriteOperation>, from: number): Promise<void> => {
  let ids = new Set<string>()
  let group: Array<Promise<void>> = []
  for (const [i, operation] of run.entries()) {
    const { id = "" } = operation
    if (group.length >= DELETES_AT_ONCE || ids.has(id)) {
      await Promise.all(group)
      ids = new Set()
      group = []
    }
    ids.add(id)
    group.push(
      deleteOne(writing, id).then((verdict) => {
        writing.verdicts[from + i] = verdict
      })
    )
  }
  await Promise.all(group)
}
const deleteOne = async ({ client, entry, names, namespace, options }: Writing, id: string): Promise<WriteVerdict> => {
  const answer = await client.ask({
    method: "DELETE",
    path: `/collections/${entry.serverName}/documents/${encodeURIComponent(id)}`,
    isRepeatable: false
  })
  if (!answer.ok) {
    const { error } = answer
    return { id, result: fail({ ...error, message: names.translate(namespace, error.message) }) }
  }
  const document = documentOf(answer.value)
  if (document === undefined) return { id, result: LOST }
  return { id, result: ok({ id, changed: true, ...(options.returnDocuments === true ? { document } : {}) }) }
}
