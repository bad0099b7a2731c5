/** The window of a search: hits that stages read and reorder before a page is made from them. */
import type { StoredDocument } from "../../documents/mod.ts"
import type { FieldValue, Hit, HitWindow, WindowColumn } from "../../plan.ts"
import { GIVE_WAY, type LateQuantum } from "../../budget/cutoff.ts"
import type { Placed } from "../execution/placed.ts"
import { hitColumn, type SegmentHits } from "./hit-column.ts"
import type { HitRenderer } from "./hit-renderer.ts"

export interface WindowEntry {
  readonly placed: Placed
  readonly render: HitRenderer
  readonly more?: Pick<Hit, "search_index" | "collection">
}
/** The hits of a window; documents that no longer exist are left out. */
export class RenderedWindow implements HitWindow {
  readonly #entries: ReadonlyArray<WindowEntry & { readonly stored: StoredDocument }>
  readonly organic: ReadonlyArray<Hit>
  readonly ids: ReadonlyArray<string>
  readonly injected: HitWindow["injected"]
  readonly #fields: ReadonlyArray<string>
  readonly #late: LateQuantum
  #parts: ReadonlyArray<SegmentHits> | undefined
  #kept: ReadonlyMap<string, ReadonlyArray<FieldValue | undefined>> | undefined
  constructor(
    fields: ReadonlyArray<string>,
    late: LateQuantum,
    organic: ReadonlyArray<WindowEntry>,
    injected: ReadonlyArray<WindowEntry & { readonly position: number }>
  ) {
    this.#fields = fields
    this.#late = late
    this.#entries = withStored(organic)
    this.organic = this.#entries.map(({ placed, render, stored, more = {} }) =>
      render.lazyHit(placed, stored, more, late)
    )
    this.ids = this.#entries.map(({ placed, render }) => render.idOf(placed))
    this.injected = withStored(injected).map(({ placed, position, render, stored, more = {} }) => ({
      id: render.idOf(placed),
      hit: render.lazyHit(placed, stored, more, late),
      position
    }))
  }
  value(i: number, field: string): FieldValue | undefined {
    const { placed, render, stored } = this.#entries[i]
    return this.#kept === undefined ? render.value(placed, field, stored) : this.#kept.get(field)?.[i]
  }
  column(field: string): WindowColumn | undefined {
    // Hits that were captured are read one by one.
    return this.#kept === undefined
      ? hitColumn((this.#parts ??= partsOf(this.#entries)), this.#entries.length, field)
      : undefined
  }
  keep(): void {
    if (this.#kept !== undefined) return
    // A vector may be a view into a segment, so it is copied.
    const lasting = (value: FieldValue | undefined): FieldValue | undefined =>
      value instanceof Float32Array ? value.slice() : value
    const kept = new Map(
      this.#fields.map((field) => [field, this.#entries.map((_entry, i) => lasting(this.value(i, field)))])
    )
    this.#kept = kept
    try {
      this.#late.run(() => {
        for (const hit of this.organic) void hit.highlight
        for (const { hit } of this.injected) void hit.highlight
      })
    } catch (error) {
      if (error !== GIVE_WAY) throw error
    }
  }
  get isWhole(): boolean {
    return !this.#late.isOver
  }
}
const withStored = <A extends WindowEntry>(entries: ReadonlyArray<A>): Array<A & { readonly stored: StoredDocument }> =>
  entries.flatMap((entry) => {
    const stored = entry.render.stored(entry.placed)
    return stored === undefined ? [] : [{ ...entry, stored }]
  })
/** Entries grouped by the segment of their document. */
const partsOf = (entries: ReadonlyArray<WindowEntry>): ReadonlyArray<SegmentHits> => {
  const parts = new Map<HitRenderer, Array<SegmentHits | undefined>>()
  entries.forEach(({ placed, render }, hit) => {
    let own = parts.get(render)
    if (own === undefined) parts.set(render, (own = []))
    const part = (own[placed.s] ??= render.segmentHits(placed))
    part.docs.push(placed.doc)
    part.hits.push(hit)
  })
  return [...parts.values()].flatMap((own) => own.filter((part) => part !== undefined))
}
