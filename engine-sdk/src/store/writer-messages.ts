/**
 * Messages between an engine and its writer in a worker. Bulk data is sent as text, because object graphs cost more and
 * typed arrays are slow on one runtime's ports; segments are sent as shared buffers with offset and length.
 */
import { stringifyJson } from "../documents/mod.ts"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { EarlyTexts, Publication, PublishedGraph, PublishedSegment } from "../index/reader.ts"
import type { Region, SegmentMeta } from "../index/sections.ts"
import type { WriteOperation } from "../plan.ts"
import type { DirtyValues, WriteAction } from "../schema.ts"
import type { WriterEvent } from "./writer-port.ts"

/** Calls one method of the writer; `head` is JSON of its arguments, `body` the documents of a write in sequence. */
export interface WriterCall {
  readonly kind: "call"
  readonly id: number
  readonly method:
    | "create"
    | "alter"
    | "drop"
    | "write"
    | "open"
    | "makeUnits"
    | "release"
    | "setDictionary"
    | "stop"
    | "close"
  readonly head: string
  readonly body: string
  /** Number of messages that follow with the rest of a write. */ readonly parts: number
}
interface SeenMessage {
  readonly kind: "seen"
  readonly publication: number
}
/** Sent when the searching thread is ready for a segment, or does not search it. */
interface PreparedMessage {
  readonly kind: "prepared"
  readonly id: number
}
/** Further operations of a write whose call did not include all of them. */
interface PartMessage {
  readonly kind: "part"
  readonly id: number
  /** JSON, because one runtime scans every object that arrives at a port. */ readonly heads: string
  readonly body: string
}
export type ToWriter = WriterCall | SeenMessage | PreparedMessage | PartMessage
interface SharedSection {
  readonly id: number
  readonly name: string
  readonly meta: string
  readonly buffer: ArrayBufferLike
  readonly offset: number
  readonly length: number
}
interface SharedSegment {
  readonly id: number
  readonly meta: string
  readonly buffer: ArrayBufferLike
  readonly offset: number
  readonly length: number
  readonly outside: string | undefined
  readonly deleted: ReadonlyArray<number>
  readonly sections: ReadonlyArray<SharedSection>
}
export type FromWriter =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly text: string }
  /** Sent for a write before its answer; writes sent later are ordered after it. */
  | { readonly kind: "taken"; readonly id: number }
  | {
      readonly kind: "failed"
      readonly id?: number
      readonly name: string
      readonly message: string
      readonly stack?: string
    }
  /** `number`: that of a publication that frees memory of the collection once readers have applied it; else 0. */
  | { readonly kind: "event"; readonly number: number; readonly text: string }
  /**
   * A segment that is about to be published in place of others; its memory does not change until a `prepared` message.
   */
  | {
      readonly kind: "prepare"
      readonly id: number
      readonly key: number
      readonly segment: SharedSegment
      readonly replaced: ReadonlyArray<number>
    }
  | {
      readonly kind: "published"
      readonly number: number
      readonly key: number
      readonly schema: string | undefined
      readonly added: ReadonlyArray<SharedSegment>
      readonly removed: ReadonlyArray<number>
      readonly deletions: string
      /** JSON of what was published, without the graphs themselves. */ readonly graphs: string
      readonly graphRegions: ReadonlyArray<Region | undefined>
      readonly sections: ReadonlyArray<{
        readonly segment: number
        readonly sections: ReadonlyArray<SharedSection>
      }>
      /** JSON of the document texts that are not on disk yet. */ readonly early?: string
      readonly readable?: number
    }

interface OperationHead {
  readonly d?: 1
  readonly i?: string
  readonly a?: WriteAction
  readonly v?: DirtyValues
  readonly n?: number
  /** Set if the operation is a `rewrite`. */ readonly r?: 1
}

/** Cost: one JSON text per document that was given as an object; texts are sent unchanged. */
export const encodeOperations = (
  operations: ReadonlyArray<WriteOperation>
): { readonly heads: string; readonly body: string } => {
  const parts: string[] = []
  const decoder = new TextDecoder()
  const heads = operations.map((operation): OperationHead => {
    if (operation.kind === "delete") return { d: 1, i: operation.id }
    const { document } = operation
    const text =
      typeof document === "string"
        ? document
        : document instanceof Uint8Array
          ? decoder.decode(document)
          : stringifyJson(document)
    parts.push(text)
    return {
      a: operation.action,
      n: text.length,
      ...(operation.id === undefined ? {} : { i: operation.id }),
      ...(operation.dirtyValues === undefined ? {} : { v: operation.dirtyValues }),
      ...(operation.rewrite === true ? { r: 1 as const } : {})
    }
  })
  return { heads: JSON.stringify(heads), body: parts.join("") }
}
export const decodeOperations = (heads: string, body: string): WriteOperation[] => {
  let at = 0
  return (JSON.parse(heads) as ReadonlyArray<OperationHead>).map((head): WriteOperation => {
    if (head.d === 1) return { kind: "delete", id: head.i! }
    const document = body.slice(at, (at += head.n!))
    return {
      kind: "put",
      action: head.a!,
      dirtyValues: head.v,
      document,
      ...(head.i === undefined ? {} : { id: head.i }),
      ...(head.r === 1 ? { rewrite: true } : {})
    }
  })
}

const encodeSection = ({ id, meta, name, region }: DerivedSection): SharedSection => ({
  id,
  name,
  meta: JSON.stringify(meta),
  buffer: region.buffer,
  offset: region.offset,
  length: region.length
})
const decodeSection = ({ buffer, id, length, meta, name, offset }: SharedSection): DerivedSection => ({
  id,
  name,
  meta: JSON.parse(meta) as SegmentMeta,
  region: { buffer, offset, length }
})
export const encodeSegment = ({ deleted, id, meta, region, sections = [] }: PublishedSegment): SharedSegment => ({
  id,
  meta: JSON.stringify(meta),
  buffer: region.buffer,
  offset: region.offset,
  length: region.length,
  outside: region.outside,
  deleted: deleted === undefined ? [] : Array.from(deleted),
  sections: sections.map(encodeSection)
})
export const decodeSegment = ({
  buffer,
  deleted,
  id,
  length,
  meta,
  offset,
  outside,
  sections
}: SharedSegment): PublishedSegment => ({
  id,
  meta: JSON.parse(meta) as SegmentMeta,
  region: { buffer, offset, length, ...(outside === undefined ? {} : { outside }) },
  deleted,
  sections: sections.map(decodeSection)
})

export const encodeEvent = (event: WriterEvent, number: number): FromWriter => {
  if (event.kind !== "published") return { kind: "event", number, text: stringifyJson(event) }
  const { publication } = event
  return {
    kind: "published",
    number,
    key: event.key,
    schema: publication.schema === undefined ? undefined : JSON.stringify(publication.schema),
    added: publication.added.map(encodeSegment),
    removed: publication.removed,
    deletions: JSON.stringify(publication.deletions.map(({ segment, docs }) => ({ segment, docs: Array.from(docs) }))),
    graphs: JSON.stringify(
      (publication.graphs ?? []).map(({ segment, record, failure }) => ({ segment, record, failure }))
    ),
    graphRegions: (publication.graphs ?? []).map(({ region }) => region),
    sections: (publication.sections ?? []).map(({ sections, segment }) => ({
      segment,
      sections: sections.map(encodeSection)
    })),
    ...(publication.early === undefined ? {} : { early: JSON.stringify(publication.early) }),
    ...(publication.readable === undefined ? {} : { readable: publication.readable })
  }
}
export const decodePublication = (message: Extract<FromWriter, { kind: "published" }>): Publication => ({
  ...(message.schema === undefined ? {} : { schema: JSON.parse(message.schema) as NonNullable<Publication["schema"]> }),
  added: message.added.map(decodeSegment),
  removed: message.removed,
  deletions: JSON.parse(message.deletions) as Publication["deletions"],
  graphs: (JSON.parse(message.graphs) as Array<Omit<PublishedGraph, "region">>).map((graph, i) => ({
    ...graph,
    region: message.graphRegions[i]
  })),
  sections: message.sections.map(({ sections, segment }) => ({ segment, sections: sections.map(decodeSection) })),
  ...(message.early === undefined ? {} : { early: JSON.parse(message.early) as EarlyTexts }),
  ...(message.readable === undefined ? {} : { readable: message.readable })
})
