/** The databases of a data folder, and the encoding of their records. */
import { join } from "node:path"
import type { Database, RootDatabase } from "lmdb"
import { stringifyJson } from "../documents/mod.ts"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { Region, SegmentMeta } from "../index/sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import { missingPackage } from "../optional-package.ts"
import type { CollectionRecord, SavedIndex, UnreadableRecord } from "./journal.ts"

export interface Counters {
  nextSeq: number
  position: number
  documents: number
  bytes: number
}
export interface Manifest {
  readonly position: number
  readonly segments: ReadonlyArray<{
    readonly id: number
    readonly meta: SegmentMeta
    /** SHA-1 of the segment's file; absent in older snapshots. */ readonly hash?: string
    /** SHA-1 of the file with its vectors, if there is one. */ readonly vectors?: string
    readonly deleted: string
    readonly graphs?: ReadonlyArray<GraphRecord>
    readonly sections?: ReadonlyArray<ManifestSection>
  }>
  readonly asked?: SavedIndex["asked"]
}
export interface ManifestSection extends Omit<DerivedSection, "region"> {
  readonly hash: string
}
/** A segment, or a section derived from one, laid out in memory. */
export interface Laid {
  readonly meta: SegmentMeta
  readonly region: Region
}
export const segmentName = (key: number, id: number): string => `${key}-${id}.seg`
export const sectionName = (key: number, id: number): string => `${key}-${id}.sec`
export interface Databases {
  readonly env: RootDatabase<Buffer, Buffer>
  readonly documents: Database<Buffer, Buffer>
  readonly unstored: Database<Buffer, Buffer>
  readonly changes: Database<Buffer, Buffer>
  readonly records: Database<Buffer, Buffer>
}

export const collectionKey = (key: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(key)
  return bytes
}
/** Collection number, then insertion number or position, in 4 and 6 bytes, so that byte order is numeric order. */
export const entryKey = (key: number, at: number): Buffer => {
  const bytes = Buffer.alloc(10)
  bytes.writeUInt32BE(key)
  bytes.writeUIntBE(at, 4, 6)
  return bytes
}
export const json = (value: unknown): Buffer => Buffer.from(stringifyJson(value), "utf8")
export const textOf = (bytes: Buffer): string => bytes.toString("utf8", 0, bytes.length)

/** For a write inside a batch, whose own promise reports the outcome; this promise is ignored. */
export const inBatch = (write: Promise<boolean>): void => {
  write.catch(() => {})
}
export const openDatabases = async (path: string, readOnly: boolean): Promise<Databases> => {
  const lmdb = await import("lmdb").catch((error: unknown) => {
    throw missingPackage("lmdb", "Storage on disk", error)
  })
  const options = { encoding: "binary", keyEncoding: "binary" } as const
  // `safeRestore` (absent from the typings): after any crash, go back to the newest synced transaction. By default LMDB
  // uses the machine's boot id to detect a power loss, and inside a virtual machine or a container that id can survive
  // one.
  const env = lmdb.open<Buffer, Buffer>({
    path: join(path, "documents.mdb"),
    maxDbs: 8,
    readOnly,
    ...options,
    ...(readOnly ? {} : { safeRestore: true })
  } as Parameters<typeof lmdb.open<Buffer, Buffer>>[0])
  const database = (name: string): Database<Buffer, Buffer> => env.openDB<Buffer, Buffer>({ name, ...options })
  return {
    env,
    documents: database("documents"),
    unstored: database("unstored"),
    changes: database("changes"),
    records: database("records")
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const readRecord = (key: number, text: string): CollectionRecord | UnreadableRecord => {
  const record = parsed(text)
  if (
    isObject(record) &&
    record.key === key &&
    typeof record.namespace === "string" &&
    isObject(record.schema) &&
    typeof record.schema.name === "string" &&
    Array.isArray(record.schema.fields) &&
    record.schema.fields.every(isObject)
  )
    return record as unknown as CollectionRecord
  const namespace = isObject(record)
    ? record.namespace
    : parsed(/"namespace":("(?:[^"\\]|\\.)*")/.exec(text)?.[1] ?? "")
  return {
    key,
    namespace: typeof namespace === "string" ? namespace : "",
    message: `The record of collection ${key} cannot be read.`
  }
}
export const readCounters = (text: string): Counters | undefined => {
  const counters = parsed(text)
  return isObject(counters) &&
    ["nextSeq", "position", "documents", "bytes"].every((name) => Number.isSafeInteger(counters[name]))
    ? (counters as unknown as Counters)
    : undefined
}
export const readManifest = (text: string): Manifest | undefined => {
  const manifest = parsed(text)
  const isSection = (section: unknown): boolean =>
    isObject(section) &&
    Number.isSafeInteger(section.id) &&
    typeof section.name === "string" &&
    typeof section.hash === "string" &&
    isObject(section.meta) &&
    Number.isSafeInteger(section.meta.bytes)
  const isSegment = (segment: unknown): boolean =>
    isObject(segment) &&
    Number.isSafeInteger(segment.id) &&
    isObject(segment.meta) &&
    Number.isSafeInteger(segment.meta.bytes) &&
    typeof segment.deleted === "string" &&
    (segment.meta.outside === undefined ||
      (isObject(segment.meta.outside) &&
        typeof segment.meta.outside.name === "string" &&
        Number.isSafeInteger(segment.meta.outside.bytes) &&
        typeof segment.vectors === "string")) &&
    (segment.sections === undefined || (Array.isArray(segment.sections) && segment.sections.every(isSection)))
  return isObject(manifest) &&
    Number.isSafeInteger(manifest.position) &&
    Array.isArray(manifest.segments) &&
    manifest.segments.every(isSegment)
    ? (manifest as unknown as Manifest)
    : undefined
}
const isUnit = (unit: unknown): boolean =>
  isObject(unit) &&
  typeof unit.name === "string" &&
  typeof unit.locale === "string" &&
  typeof unit.weight === "number" &&
  (unit.prefix === undefined || typeof unit.prefix === "string")
export const askedOf = ({ asked }: Manifest): SavedIndex["asked"] =>
  Array.isArray(asked) && asked.every((units) => Array.isArray(units) && units.every(isUnit)) ? asked : []

/** The stored form of a snapshot, with the names of its files. */
export const manifestOf = (
  { asked, segments }: SavedIndex,
  position: number,
  of: {
    readonly key: number
    readonly hashOf: (file: string) => string | undefined
    readonly vectorsOf: (file: string) => string
  }
): Manifest => ({
  position,
  asked,
  segments: segments.map(({ id, meta, deleted, graphs, sections }) => {
    const list = Buffer.alloc(deleted.length * 4)
    deleted.forEach((doc, i) => list.writeUInt32LE(doc, i * 4))
    const hash = of.hashOf(segmentName(of.key, id))
    return {
      id,
      meta,
      ...(hash === undefined ? {} : { hash }),
      ...(meta.outside === undefined ? {} : { vectors: of.vectorsOf(meta.outside.name) }),
      deleted: list.toString("base64"),
      graphs: graphs.map(({ record }) => record),
      sections: sections.map((section) => ({
        id: section.id,
        name: section.name,
        meta: section.meta,
        hash: of.hashOf(sectionName(of.key, section.id)) ?? ""
      }))
    }
  })
})
/** Insertion numbers of documents that changed after a position of the journal. */
export const changesAfter = ({ changes }: Databases, key: number, position: number): number[] => {
  const changed: number[] = []
  for (const { value } of changes.getRange({ start: entryKey(key, position + 1), end: entryKey(key + 1, 0) }))
    for (let at = 0; at < value.length; at += 6) changed.push(value.readUIntBE(at, 6))
  return changed
}
