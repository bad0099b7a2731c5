/** A writer in a worker thread as the searching thread sees it: calls become messages, and events arrive in order. */
import { Worker } from "node:worker_threads"
import { parseJson, stringifyJson } from "../documents/mod.ts"
import type { Namespace, SchemaChange, WriteVerdict } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { ok, type Result } from "../errors.ts"
import type { RelevanceUnit, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema } from "../schema.ts"
import { pause } from "../turns.ts"
import { type WriterEvent, WriterGone, type WriterMemory, type WriterPort } from "./writer-port.ts"
import {
  decodePublication,
  decodeSegment,
  encodeOperations,
  type FromWriter,
  type ToWriter,
  type WriterCall
} from "./writer-messages.ts"

/** Time for the worker to end by itself before it is terminated. */
const STOP_MS = 10_000
/**
 * Operations that the writer accepts together, and operations per message; creating a message of this size blocks the
 * searching thread for half a millisecond.
 */
const PART_OPERATIONS = 4_096
const MESSAGE_OPERATIONS = 128

/** How the searching thread handles the writer's events. */
interface SearchingSide {
  readonly emit: (event: WriterEvent) => void
  readonly lost: (message: string) => void
  readonly prepare: NonNullable<WriterMemory["prepare"]>
  /** Resolves when no other thread still reads what was published so far; undefined = no other thread does. */
  readonly unread?: () => Promise<void> | undefined
}

export class RemoteWriter implements WriterPort {
  private readonly worker: Worker
  /** Number of calls posted; the worker checks it between two slices of its work. */ private readonly posted =
    new Int32Array(new SharedArrayBuffer(4))
  private readonly emit: (event: WriterEvent) => void
  private readonly lost: (message: string) => void
  private readonly prepare: NonNullable<WriterMemory["prepare"]>
  private readonly unread: SearchingSide["unread"]
  private readonly waiting = new Map<
    number,
    {
      readonly resolve: (value: unknown) => void
      readonly reject: (error: Error) => void
      readonly hasDocuments: boolean
      readonly taken: (() => void) | undefined
    }
  >()
  private nextCall = 1
  private ready: { resolve: () => void; reject: (error: Error) => void } | undefined
  private isClosing = false
  private isGone = false
  private exited: Promise<void>
  private constructor(
    path: string,
    { emit, lost, prepare, unread }: SearchingSide,
    approximateFrom: number | undefined
  ) {
    this.emit = emit
    this.lost = lost
    this.prepare = prepare
    this.unread = unread
    this.worker = new Worker(new URL("./writer-worker.ts", import.meta.url), {
      workerData: { path, approximateFrom, posted: this.posted.buffer },
      resourceLimits: { maxOldGenerationSizeMb: 2_048 }
    })
    this.worker.on("message", (message: FromWriter) => this.receive(message))
    this.worker.on("error", (error) => this.gone(error instanceof Error ? error.message : String(error)))
    this.exited = new Promise((resolve) => {
      this.worker.on("exit", () => {
        this.gone("The engine's writer has stopped.")
        resolve()
      })
    })
  }
  /** Starts the worker; resolves when it has announced every collection. */
  static async start(path: string, side: SearchingSide, approximateFrom?: number): Promise<RemoteWriter> {
    const writer = new RemoteWriter(path, side, approximateFrom)
    await new Promise<void>((resolve, reject) => {
      writer.ready = { resolve, reject }
    })
    return writer
  }

  private receive(message: FromWriter): void {
    switch (message.kind) {
      case "ready":
        this.ready?.resolve()
        return
      case "event":
        this.emit(JSON.parse(message.text) as WriterEvent)
        if (message.number > 0) this.seen(message.number)
        return
      case "published":
        this.emit({ kind: "published", key: message.key, publication: decodePublication(message) })
        if (message.removed.length > 0 || message.added.length > 0 || message.sections.length > 0)
          this.seen(message.number)
        return
      case "prepare":
        // Answered even on failure, so that the merge does not wait forever. A failure is a defect and is thrown.
        void this.prepare(message.key, decodeSegment(message.segment), message.replaced).finally(() =>
          this.post({ kind: "prepared", id: message.id })
        )
        return
      case "taken":
        this.waiting.get(message.id)?.taken?.()
        return
      case "answer": {
        const call = this.waiting.get(message.id)
        this.waiting.delete(message.id)
        // Only documents contain integers beyond a double's precision; schema metadata keeps what plain JSON parsing
        // yields.
        const value: unknown = call?.hasDocuments === true ? parseJson(message.text) : JSON.parse(message.text)
        call?.resolve(value === null ? undefined : value)
        return
      }
      case "failed": {
        const error = Object.assign(new Error(message.message), { name: message.name, stack: message.stack })
        if (message.id === undefined) {
          this.ready?.reject(error)
          this.gone(message.message)
          return
        }
        this.waiting.get(message.id)?.reject(error)
        this.waiting.delete(message.id)
      }
    }
  }
  private gone(message: string): void {
    if (this.isGone) return
    this.isGone = true
    const error = new WriterGone(message)
    this.ready?.reject(error)
    // The engine is notified first, so that rejected calls are answered as unavailable.
    if (!this.isClosing) this.lost(message)
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
  }
  /** Readers have seen the publication, so memory of removed segments may be reused. */
  private seen(publication: number): void {
    const unread = this.unread?.()
    if (unread === undefined) this.post({ kind: "seen", publication })
    else void unread.then(() => this.post({ kind: "seen", publication }))
  }
  private post(message: ToWriter): void {
    this.worker.postMessage(message)
  }
  private call<A>(
    method: WriterCall["method"],
    args: ReadonlyArray<unknown>,
    {
      body = "",
      parts = 0,
      taken
    }: Partial<Pick<WriterCall, "body" | "parts">> & { taken?: (() => void) | undefined } = {}
  ): Promise<A> & { readonly id: number } {
    const id = this.nextCall++
    const answer = this.isGone
      ? Promise.reject<A>(new WriterGone("The engine's writer has stopped."))
      : new Promise<A>((resolve, reject) => {
          this.waiting.set(id, {
            resolve: resolve as (value: unknown) => void,
            reject,
            hasDocuments: method === "write",
            taken
          })
          Atomics.add(this.posted, 0, 1)
          this.post({ kind: "call", id, method, head: stringifyJson(args), body, parts })
        })
    return Object.assign(answer, { id })
  }

  create(
    namespace: Namespace,
    schema: CollectionSchema,
    createdAt_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>> {
    return this.call("create", [namespace, schema, createdAt_s, keeps ?? null])
  }
  alter(namespace: Namespace, name: string, change: SchemaChange, keeps?: KeepLimits): Promise<Result<CollectionInfo>> {
    return this.call("alter", [namespace, name, change, keeps ?? null])
  }
  drop(namespace: Namespace, name: string): Promise<Result<CollectionInfo>> {
    return this.call("drop", [namespace, name])
  }
  /**
   * Long imports are sent in parts, one after another, so that other work gets its turn in between and no message is
   * large. The first message is sent immediately.
   */
  async write(
    namespace: Namespace,
    name: string,
    operations: ReadonlyArray<WriteOperation>,
    returnDocuments: boolean,
    keeps?: KeepLimits,
    taken?: () => void
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const verdicts: WriteVerdict[] = []
    for (let at = 0; ; at += PART_OPERATIONS) {
      const isLast = at + PART_OPERATIONS >= operations.length
      const settled = await this.writePart(
        [namespace, name],
        operations.length <= PART_OPERATIONS ? operations : operations.slice(at, at + PART_OPERATIONS),
        returnDocuments,
        keeps,
        isLast ? taken : undefined
      )
      if (!settled.ok || (at === 0 && isLast)) return settled
      for (const verdict of settled.value) verdicts.push(verdict)
      if (isLast) return ok(verdicts)
    }
  }
  private async writePart(
    collection: readonly [Namespace, string],
    operations: ReadonlyArray<WriteOperation>,
    returnDocuments: boolean,
    keeps: KeepLimits | undefined,
    taken: (() => void) | undefined
  ): Promise<Result<ReadonlyArray<WriteVerdict>>> {
    const { body, heads } = encodeOperations(operations.slice(0, MESSAGE_OPERATIONS))
    const deletes = operations.some(({ kind }) => kind === "delete")
    const parts = Math.max(0, Math.ceil(operations.length / MESSAGE_OPERATIONS) - 1)
    const answer = this.call<Result<ReadonlyArray<WriteVerdict>>>(
      "write",
      [...collection, heads, returnDocuments, deletes, keeps ?? null],
      { body, parts, taken }
    )
    const sent = this.sendRest(answer.id, operations)
    // The answer reports that the writer is gone; messages sent to it are dropped.
    const [settled] = await Promise.all([answer, sent])
    return settled
  }
  private async sendRest(id: number, operations: ReadonlyArray<WriteOperation>): Promise<void> {
    for (let at = MESSAGE_OPERATIONS; at < operations.length && !this.isGone; at += MESSAGE_OPERATIONS) {
      await pause()
      Atomics.add(this.posted, 0, 1)
      this.post({ kind: "part", id, ...encodeOperations(operations.slice(at, at + MESSAGE_OPERATIONS)) })
    }
  }
  open(key: number): Promise<void> {
    return this.call("open", [key])
  }
  makeUnits(key: number, units: ReadonlyArray<RelevanceUnit>): Promise<void> {
    return this.call("makeUnits", [key, units])
  }
  release(key: number): Promise<void> {
    return this.call("release", [key])
  }
  setDictionary(namespace: Namespace, name: string, words: ReadonlyMap<string, string> | undefined): Promise<void> {
    return this.call("setDictionary", [namespace, name, words === undefined ? null : [...words]])
  }
  /** When this resolves, the worker's thread has ended, whatever state it was in. */
  async stop(): Promise<void> {
    if (!this.isGone) {
      let timer: ReturnType<typeof setTimeout> | undefined
      // A worker that no longer responds is terminated without waiting for it.
      await Promise.race([
        this.call<void>("stop", []).catch(() => {}),
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, STOP_MS)
        })
      ])
      clearTimeout(timer)
    }
    this.gone("The engine's writer was stopped.")
    await this.worker.terminate()
  }
  async close(): Promise<void> {
    this.isClosing = true
    if (this.isGone) return
    await this.call<void>("close", [])
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_MS)
    })
    await Promise.race([this.exited, late])
    clearTimeout(timer)
    if (!this.isGone) await this.worker.terminate()
  }
}
