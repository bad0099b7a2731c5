/**
 * Moves a collection to another placement while it is searched and written to: copies differing ranges until few
 * differ, sets a fence, copies the rest, compares the checksums of both and switches (`move.ts`). The same procedure
 * serves a promotion and a dropped, added or changed field: documents are rewritten from what is stored.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import { flatten, revalidate, withDetected } from "../documents/mod.ts"
import type { Namespace } from "../engine.ts"
import { conflict, type EngineError, fail, ok, type Result } from "../errors.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { warn } from "../warning.ts"
import { sendChanges, type Change } from "./bulk.ts"
import { BATCH_BYTES_MAX } from "./capabilities.ts"
import type { ClusterClient } from "./client.ts"
import type { Counters } from "./counters.ts"
import { type Directory, type Entry } from "./directory.ts"
import { identityOf, type CollectionRecord, type MoveReason } from "./record.ts"
import { documentsIndex } from "./mapping.ts"
import {
  abandonedMove,
  begunMove,
  differenceOf,
  differingRanges,
  fencedMove,
  isMovingTo,
  rangeOf,
  STEPS,
  switchedMove,
  type Step
} from "./move.ts"
import {
  lastSeqOf,
  removePlacement,
  rowsOf,
  settledChange,
  sumsOf,
  type FoundRow,
  type Summed
} from "./move-requests.ts"
import { keyOf, placementOf, placesOf, type ClusterNames, type Placement } from "./placement.ts"
import type { Refreshes } from "./refreshes.ts"
import { storedById, type StoredVersion } from "./scan.ts"
import { fitsPool, NO_SLOTS, withSlots, type SlotTable } from "./slots.ts"
import { documentOf, indexForm } from "./stored-form.ts"

/** Documents read in one request. */
const READ_DOCS = 200
/** Maximum passes before the fence; copying stops earlier once a pass finds at most `FEW_DOCS` differences. */
const PASSES_MAX = 20,
  FEW_DOCS = 200
/** How long writers wait at a fence before it is lifted and set again, and how many fences are tried. */
const FENCED_MS = 5_000,
  FENCES_MAX = 4
const SAVES_MAX = 20

export interface MoverParts {
  readonly client: ClusterClient
  readonly names: ClusterNames
  readonly directory: Directory
  readonly counters: Counters
  readonly refreshes: Refreshes
  readonly replicas: number
  /** Whether the cluster has the vector plugin. */ readonly hasVectors: () => boolean
  readonly dictionariesOf: (namespace: Namespace) => Dictionaries
  /** Interval at which a mover reports that it is alive. */ readonly beat_ms: number
  /** Called before each step; if it throws, everything stays as it is, as if the process had died. */
  readonly onStep?: ((step: Step) => void | Promise<void>) | undefined
}
interface Wanted {
  readonly reason: MoveReason
  /** What the schema becomes; called again if documents added fields in the meantime. */
  readonly schemaOf: (schema: CollectionSchema) => CollectionSchema
  /** Use a separate index even if the collection fits the shared one. */ readonly isOwn: boolean
  /** Refuses a schema over its limits. */ readonly refusalOf?: (schema: CollectionSchema) => EngineError | undefined
}
interface Pass {
  readonly isSame: boolean
  /** Number of documents that differed. */ readonly changed: number
  /** The newest change of any document at the old placement. */ readonly last: number
}
/** Returned if the record changed so that this move cannot continue. */
const INTERRUPTED = conflict("The collection was changed meanwhile; try again.")

export const moveCollection = (parts: MoverParts, entry: Entry, wanted: Wanted): Promise<Result<Entry>> =>
  new Moving(parts, entry, wanted).run()

class Moving {
  readonly #parts: MoverParts
  readonly #entry: Entry
  readonly #wanted: Wanted
  readonly #detected: Field[] = []
  #schema: CollectionSchema
  #slots: SlotTable = NO_SLOTS
  /** The new placement, once it has a key. */ #to: Placement | undefined
  /** Documents written so far, for progress reports. */ #done = 0
  #fence = -1

  constructor(parts: MoverParts, entry: Entry, wanted: Wanted) {
    this.#parts = parts
    this.#entry = entry
    this.#wanted = wanted
    this.#schema = wanted.schemaOf(entry.record.schema)
  }
  async run(): Promise<Result<Entry>> {
    const beat = setInterval(() => void this.#beat(), this.#parts.beat_ms)
    ;(beat as { unref?: () => void }).unref?.()
    try {
      for (const step of STEPS) {
        await this.#beat()
        await this.#parts.onStep?.(step)
        const done = await this.#take(step)
        if (done.ok) continue
        await this.#abandon()
        // The copy was not found, not the collection: a process that took this mover for dead has deleted the copy.
        return done.error.kind === "NotFound" ? fail(INTERRUPTED) : done
      }
      return ok(this.#entry)
    } finally {
      clearInterval(beat)
    }
  }
  #take(step: Step): Promise<Result<unknown>> {
    switch (step) {
      case "make":
        return this.#make()
      case "begin":
        return this.#begin()
      case "copy":
        return this.#copy()
      case "fence":
        return this.#setFence(true)
      case "catch_up":
        return this.#catchUp()
      case "switch":
        return this.#switch()
    }
  }
  get #placement(): Placement {
    return this.#entry.record.placement
  }
  async #make(): Promise<Result<unknown>> {
    const { client, counters, names, replicas } = this.#parts
    const number = await counters.take("collections", 1)
    if (!number.ok) return number
    const key = keyOf(number.value)
    this.#slots = withSlots(this.#schema, NO_SLOTS)
    const isOwn = this.#wanted.isOwn || this.#placement.kind === "own"
    const to: Placement = isOwn ? { kind: "own", index: names.own(key), key } : placementOf(names, key, this.#slots)
    this.#to = to
    return to.kind === "pool"
      ? ok(undefined)
      : client.ask({
          method: "PUT",
          path: `/${to.index}`,
          body: documentsIndex(placesOf("own", this.#slots), 1, replicas, this.#slots),
          isRepeatable: false
        })
  }
  async #begin(): Promise<Result<unknown>> {
    const to = this.#to!
    const { reason } = this.#wanted
    const begun = (record: CollectionRecord) =>
      record.move === undefined ? begunMove(record, { to, reason, total: this.#entry.documents }) : undefined
    return this.#save(begun)
  }
  /** Saves what `change` makes of the current record; retries on a conflict, fails if `change` returns undefined. */
  async #save(change: (record: CollectionRecord) => CollectionRecord | undefined): Promise<Result<unknown>> {
    const { directory } = this.#parts
    const { namespace, schema } = this.#entry.record
    for (let saves = 0; saves < SAVES_MAX; saves++) {
      if (directory.find(namespace, schema.name) !== this.#entry) break
      const next = change(this.#entry.record)
      if (next === undefined) break
      const saved = await directory.save(next, this.#entry.revision)
      if (saved.ok || saved.error.kind !== "Conflict") return saved
      const read = await directory.reload(namespace, schema.name)
      if (!read.ok) return read
    }
    return fail(INTERRUPTED)
  }
  get #isMine(): boolean {
    return isMovingTo(this.#entry.record, this.#to!.key)
  }
  async #beat(): Promise<void> {
    if (this.#to !== undefined) await this.#parts.counters.put(progressCounter(this.#to.key), this.#done)
  }

  /** Copies until a pass finds so few differences that writers may wait for the rest. */
  async #copy(): Promise<Result<unknown>> {
    for (let passes = 0; passes < PASSES_MAX; passes++) {
      const settled = await settledChange(this.#parts.client, this.#parts.refreshes, this.#placement)
      if (!settled.ok) return settled
      const left = await this.#pass()
      if (!left.ok) return left
      if (left.value.changed <= FEW_DOCS) break
    }
    return ok(undefined)
  }
  async #setFence(isFenced: boolean): Promise<Result<unknown>> {
    const { key } = this.#to!
    return this.#save((record) => (isMovingTo(record, key) ? fencedMove(record, isFenced) : undefined))
  }
  /** Copies the rest behind the fence, which is lifted for a while if too much is being written. */
  async #catchUp(): Promise<Result<unknown>> {
    for (let fences = 1; ; fences++) {
      const same = await this.#untilSame()
      if (!same.ok || same.value) return same
      if (fences === FENCES_MAX)
        return fail({ kind: "Overloaded", message: "The collection is changed all the time.", retryAfterSeconds: 10 })
      for (const step of [() => this.#setFence(false), () => this.#copy(), () => this.#setFence(true)]) {
        const done = await step()
        if (!done.ok) return done
      }
    }
  }
  /**
   * Copies until both are equal at a moment that includes every change up to a number and none after; false: too late.
   */
  async #untilSame(): Promise<Result<boolean>> {
    for (const until = performance.now() + FENCED_MS; performance.now() < until;) {
      const settled = await settledChange(this.#parts.client, this.#parts.refreshes, this.#placement)
      if (!settled.ok) return settled
      const pass = await this.#pass()
      if (!pass.ok) return pass
      if (!pass.value.isSame || pass.value.last > settled.value) continue
      this.#fence = settled.value
      return ok(true)
    }
    return ok(false)
  }
  async #switch(): Promise<Result<unknown>> {
    const to = this.#to!
    const seen = await this.#parts.refreshes.visible(to.index)
    if (!seen.ok) return seen
    const target = { schema: this.#schema, slots: this.#slots, fence: this.#fence }
    const saved = await this.#save((record) =>
      isMovingTo(record, to.key) && record.move!.isFenced
        ? { ...switchedMove(record, target), identity: identityOf(record) }
        : undefined
    )
    if (saved.ok || saved.error.kind === "Conflict") return saved
    // The response was lost, so the record shows whether the switch happened.
    const { namespace, schema } = this.#entry.record
    const read = await this.#parts.directory.reload(namespace, schema.name)
    return read.ok && this.#placement.key === to.key ? read : saved
  }
  /** Keeps the old placement in use; leftovers that cannot be recorded now are found by the leftover check. */
  async #abandon(): Promise<void> {
    const to = this.#to
    if (to === undefined) return
    const saved = await this.#save((record) => (isMovingTo(record, to.key) ? abandonedMove(record) : undefined))
    const isOver = saved.ok || !this.#isMine
    if (isOver && this.#placement.key !== to.key) await removePlacement(this.#parts.client, to)
    else warn("a move of a collection ended half way and is cleared later", saved.ok ? undefined : saved.error.message)
  }

  /** Copies differing ranges. Returns how many documents differed, and the newest change seen. */
  async #pass(): Promise<Result<Pass>> {
    const { client, refreshes } = this.#parts
    const renewed = await this.#renew()
    if (!renewed.ok) return renewed
    const to = this.#to!
    const seen = await refreshes.visible(to.index)
    if (!seen.ok) return seen
    const lastSeq = await lastSeqOf(client, this.#placement)
    if (!lastSeq.ok) return lastSeq
    const interval = rangeOf(lastSeq.value)
    const sums: Summed[] = []
    for (const [placement, field] of [
      [this.#placement, "_seq_no"],
      [to, "o"]
    ] as const) {
      const summed = await sumsOf(client, placement, field, interval)
      if (!summed.ok) return summed
      sums.push(summed.value)
    }
    const [old, copy] = sums
    const differing = differingRanges(old.ranges, copy.ranges)
    let changed = 0
    for (const first of differing) {
      const copied = await this.#range({ first, interval })
      if (!copied.ok) return copied
      changed += copied.value
    }
    return ok({ isSame: differing.length === 0, changed, last: old.last })
  }
  /** Reads the current record: whether this move may continue, and which fields documents added. */
  async #renew(): Promise<Result<unknown>> {
    const { directory } = this.#parts
    const { namespace, schema } = this.#entry.record
    const read = await directory.reload(namespace, schema.name)
    if (!read.ok) return read
    if (directory.find(namespace, schema.name) !== this.#entry || !this.#isMine) return fail(INTERRUPTED)
    return this.#become(withDetected(this.#wanted.schemaOf(this.#entry.record.schema), this.#detected))
  }
  /** Assigns slots to new fields. */
  async #become(schema: CollectionSchema): Promise<Result<unknown>> {
    const refused = this.#wanted.refusalOf?.(schema)
    if (refused !== undefined) return fail(refused)
    this.#schema = schema
    const slots = withSlots(schema, this.#slots)
    const to = this.#to!
    const isWider = Object.keys(slots.fields).some((name) => !Object.hasOwn(this.#slots.fields, name))
    if (!isWider) return ok(undefined)
    this.#slots = slots
    // Fields added by documents may exceed what the chosen index has room for.
    if (to.kind === "pool") return fitsPool(slots) ? ok(undefined) : fail(INTERRUPTED)
    return this.#parts.directory.makeRoom({ placement: to, slots })
  }
  async #range(range: { readonly first: number; readonly interval: number }): Promise<Result<number>> {
    const { client } = this.#parts
    const [old, copy] = await Promise.all([
      rowsOf(client, this.#placement, "_seq_no", range),
      rowsOf(client, this.#to!, "o", range)
    ])
    if (!old.ok) return old
    if (!copy.ok) return copy
    const { copied, removed } = differenceOf(old.value, copy.value)
    const rows = new Map(copy.value.map((row) => [row.id, row]))
    const gone = await this.#send(removed.map((id) => ({ id, before: rows.get(id), form: undefined })))
    if (!gone.ok) return gone
    for (let from = 0; from < copied.length; from += READ_DOCS) {
      const sent = await this.#documents(copied.slice(from, from + READ_DOCS), rows)
      if (!sent.ok) return sent
    }
    return ok(copied.length + removed.length)
  }
  async #documents(ids: ReadonlyArray<string>, rows: ReadonlyMap<string, FoundRow>): Promise<Result<unknown>> {
    const stored = await storedById(this.#parts.client, this.#placement, ids)
    if (!stored.ok) return stored
    let changes: Change[] = [],
      bytes = 0
    for (const [id, version] of stored.value) {
      const form = await this.#formOf(version)
      if (!form.ok) return form
      changes.push({ id, before: rows.get(id), form: form.value })
      bytes += version.form.d.length
      // The words of a document take about as much space as its text, and so do their prefixes.
      if (bytes * 4 < BATCH_BYTES_MAX) continue
      const sent = await this.#send(changes)
      if (!sent.ok) return sent
      changes = []
      bytes = 0
    }
    return this.#send(changes)
  }
  /** A document in the form for the new placement; fails if it does not fit the new schema. */
  async #formOf({ form, _seq_no }: StoredVersion): Promise<Result<Record<string, unknown>>> {
    const { namespace, version } = this.#entry.record
    const document = documentOf(form)
    let values = flatten(this.#schema, document)
    if (this.#wanted.reason === "schema") {
      const prepared = revalidate(this.#schema, document)
      if (!prepared.ok) return prepared
      const { detected } = prepared.value
      if (detected.length > 0) {
        this.#detected.push(...detected)
        const become = await this.#become(withDetected(this.#schema, detected))
        if (!become.ok) return become
        values = flatten(this.#schema, document)
      }
    }
    const dictionaries = this.#parts.dictionariesOf(namespace)
    const of = { schema: this.#schema, slots: this.#slots, placement: this.#to!, version: version + 1, dictionaries }
    return ok({ ...indexForm(of, form, values), o: _seq_no })
  }
  /** Documents that another writer changed first are checked again in the next pass. */
  async #send(changes: ReadonlyArray<Change>): Promise<Result<unknown>> {
    const sent = await sendChanges(this.#parts.client, this.#to!, changes)
    if (!sent.ok) return sent
    this.#done += changes.length
    const failed = sent.value.find(({ error }) => error !== undefined && error.kind !== "Conflict")
    return failed === undefined ? ok(undefined) : fail(failed.error!)
  }
}
/** Counter in which a mover reports its progress, and thereby that it is alive. */
export const progressCounter = (key: string): string => `progress-${key}`
