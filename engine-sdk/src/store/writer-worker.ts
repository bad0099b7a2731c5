/**
 * Entry point of the writer's worker thread: the writer over the journal on disk, driven by messages. Segments are
 * built in shared slabs, so publishing one to the searching thread copies nothing.
 */
import { parentPort, workerData } from "node:worker_threads"
import { stringifyJson } from "../documents/mod.ts"
import type { SchemaChange } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { RelevanceUnit, WriteOperation } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { LmdbJournal } from "./lmdb-journal.ts"
import { SlabPool } from "./slab-pool.ts"
import { yieldToQuickSearches } from "../thread-priority.ts"
import { giveWayTo } from "../turns.ts"
import type { MoreOperations } from "./collection-writer-options.ts"
import { Writer } from "./writer.ts"
import {
  decodeOperations,
  encodeEvent,
  encodeSegment,
  type FromWriter,
  type ToWriter,
  type WriterCall
} from "./writer-messages.ts"

const port = parentPort
if (port === null) throw new Error("writer-worker runs in a worker thread only")
yieldToQuickSearches()
const post = (message: FromWriter): void => port.postMessage(message)
const failed = (error: unknown, id?: number): void => {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  post({
    kind: "failed",
    name,
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(id === undefined ? {} : { id })
  })
}
// One runtime loses names and stacks of uncaught errors on the way to the parent, so they are sent first.
process.on("uncaughtException", (error) => {
  failed(error)
  process.exit(1)
})
process.on("unhandledRejection", (error) => {
  failed(error)
  process.exit(1)
})

const { path, approximateFrom, posted } = workerData as {
  path: string
  approximateFrom: number | undefined
  posted: SharedArrayBuffer
}
const calls = new Int32Array(posted)
let received = 0
const messageCame = giveWayTo(() => Atomics.load(calls, 0) !== received)
const preparing = new Map<number, () => void>()
let nextPreparation = 1
const journal = await LmdbJournal.open(path)
const pool = new SlabPool((file) => journal.vectorFiles.drop(file))
/** Events that may free memory once every reader has applied them: other threads may be searching what is dropped. */
const FREEING: ReadonlySet<string> = new Set(["published", "dropped", "closed"])
const writer = new Writer(
  journal,
  (event) => post(encodeEvent(event, FREEING.has(event.kind) ? ++pool.publications : 0)),
  {
    allocate: pool.allocate,
    allocateLinear: pool.allocateLinear,
    release: pool.retire,
    holding: (work) => pool.holding(work),
    prepare: (key, segment, replaced) =>
      new Promise((resolve) => {
        const id = nextPreparation++
        preparing.set(id, resolve)
        post({ kind: "prepare", id, key, segment: encodeSegment(segment), replaced })
      })
  },
  approximateFrom
)

/**
 * For writes in progress: operations that have arrived, and callers that wait for more. Per caller, bounded by what a
 * write accepts together.
 */
const arriving = new Map<
  number,
  { readonly come: Array<ReadonlyArray<WriteOperation>>; wake: (() => void) | undefined }
>()
const restOf = ({ id, parts }: WriterCall): MoreOperations | undefined => {
  if (parts === 0) return undefined
  const rest: { come: Array<ReadonlyArray<WriteOperation>>; wake: (() => void) | undefined } = {
    come: [],
    wake: undefined
  }
  arriving.set(id, rest)
  let left = parts
  return async () => {
    if (left === 0) return undefined
    if (rest.come.length === 0)
      await new Promise<void>((resolve) => {
        rest.wake = resolve
      })
    left--
    return rest.come.shift()
  }
}
const keepsOf = (given: unknown): KeepLimits | undefined => (given === null ? undefined : (given as KeepLimits))
const run = async (call: WriterCall): Promise<unknown> => {
  const head = JSON.parse(call.head) as unknown[]
  switch (call.method) {
    case "create":
      return writer.create(head[0] as string, head[1] as CollectionSchema, head[2] as number, keepsOf(head[3]))
    case "alter":
      return writer.alter(head[0] as string, head[1] as string, head[2] as SchemaChange, keepsOf(head[3]))
    case "drop":
      return writer.drop(head[0] as string, head[1] as string)
    case "write":
      return writer.write(
        head[0] as string,
        head[1] as string,
        decodeOperations(head[2] as string, call.body),
        head[3] as boolean,
        keepsOf(head[5]),
        () => post({ kind: "taken", id: call.id }),
        restOf(call),
        head[4] as boolean
      )
    case "open":
      return writer.open(head[0] as number)
    case "makeUnits":
      return writer.makeUnits(head[0] as number, head[1] as ReadonlyArray<RelevanceUnit>)
    case "release":
      return writer.release(head[0] as number)
    case "setDictionary":
      return writer.setDictionary(
        head[0] as string,
        head[1] as string,
        head[2] === null ? undefined : new Map(head[2] as Array<[string, string]>)
      )
    case "stop":
      return writer.stop()
    case "close":
      return writer.close()
  }
}
port.on("message", (message: ToWriter) => {
  if (message.kind === "prepared") {
    preparing.get(message.id)?.()
    preparing.delete(message.id)
    return
  }
  if (message.kind === "seen") {
    pool.seen(message.publication)
    return
  }
  received = (received + 1) | 0
  messageCame()
  if (message.kind === "part") {
    const rest = arriving.get(message.id)
    rest?.come.push(decodeOperations(message.heads, message.body))
    rest?.wake?.()
    return
  }
  // A refused write discards its operations that are still arriving.
  run(message)
    .finally(() => {
      arriving.delete(message.id)
    })
    .then(
      (value) => {
        post({ kind: "answer", id: message.id, text: stringifyJson(value === undefined ? null : value) })
        // Gives the answer time to be sent before the thread exits.
        if (message.method === "close") setTimeout(() => process.exit(0), 10)
      },
      (error: unknown) => failed(error, message.id)
    )
})
writer.start()
post({ kind: "ready" })
