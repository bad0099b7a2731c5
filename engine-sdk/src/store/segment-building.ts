/**
 * Builds segments from stored documents when a collection is opened without a usable snapshot, and when its schema
 * changes. In slices, so that other work gets its turn.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import { flatten, parseJson, revalidate, withDetected } from "../documents/mod.ts"
import { ok, type Result } from "../errors.ts"
import { SegmentBuilder } from "../index/builders.ts"
import type { Allocate, Outside, Region, SegmentMeta } from "../index/sections.ts"
import type { CollectionSchema, Document } from "../schema.ts"
import { inSlices, nextTurn } from "../turns.ts"
import type { StoredDocument } from "./journal.ts"

const SLICE_MS = 0.5
/** Documents per segment. */
const REBUILD_DOCS = 4_096

export interface BuiltSegment {
  readonly meta: SegmentMeta
  readonly region: Region
}

/** A stored document with the values of its `store: false` fields. */
export const wholeDocument = ({ text, unstored }: StoredDocument): Document => {
  const document = parseJson(text) as Document
  return unstored === undefined ? document : { ...document, ...(parseJson(unstored) as Document) }
}

/** Returns a function that yields one turn of the event loop whenever a slice is over. */
const slices = (): (() => Promise<void> | undefined) => {
  let until = performance.now() + SLICE_MS
  return () =>
    performance.now() <= until
      ? undefined
      : nextTurn().then(() => {
          until = performance.now() + SLICE_MS
        })
}

/** Builds segments from documents that are valid under the schema. Costs about as much as writing them again. */
export async function* buildSegments(
  schema: CollectionSchema,
  documents: Iterable<StoredDocument>,
  dictionaries: Dictionaries | undefined,
  allocate: Allocate,
  outside: Outside | undefined
): AsyncGenerator<BuiltSegment, void> {
  const giveWay = slices()
  let builder = new SegmentBuilder(schema, dictionaries)
  for (const stored of documents) {
    const document = wholeDocument(stored)
    builder.add(stored.seq, String(document.id), flatten(schema, document))
    if (builder.docs >= REBUILD_DOCS) {
      yield await inSlices(builder.finishing(allocate, outside), SLICE_MS)
      builder = new SegmentBuilder(schema, dictionaries)
    }
    const turn = giveWay()
    if (turn !== undefined) await turn
  }
  if (builder.docs > 0) yield await inSlices(builder.finishing(allocate, outside), SLICE_MS)
}

/**
 * The schema with the fields that its dynamic ones detect in the documents; a failure if a document is not valid under
 * it. `check` is called with every intermediate schema.
 */
export const revalidateAll = async (
  schema: CollectionSchema,
  documents: Iterable<StoredDocument>,
  check: (schema: CollectionSchema) => Result<void>
): Promise<Result<CollectionSchema>> => {
  const giveWay = slices()
  let target = schema
  for (const stored of documents) {
    const prepared = revalidate(target, wholeDocument(stored))
    if (!prepared.ok) return prepared
    if (prepared.value.detected.length > 0) target = withDetected(target, prepared.value.detected)
    const checked = check(target)
    if (!checked.ok) return checked
    const turn = giveWay()
    if (turn !== undefined) await turn
  }
  return ok(target)
}
