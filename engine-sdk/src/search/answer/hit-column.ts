/**
 * Reads one field of all hits of a window together. The documents of hits are scattered over a column, so each read is
 * a cache miss; one tight loop lets the processor overlap many misses, whereas reading hit by hit waits for each. The
 * hits of a window also share few brands and colours, so each text is decoded once for all of them.
 */
import type { Segment } from "../../index/segment.ts"
import type { FieldValue, WindowColumn } from "../../plan.ts"
import type { Field } from "../../schema.ts"

/** The hits whose documents are in one segment. */
export interface SegmentHits {
  readonly segment: Segment
  readonly fieldNamed: (name: string) => Field | undefined
  readonly docs: Array<number>
  /** The index of the hit of each document. */ readonly hits: Array<number>
}

/** Adds texts; `places` gets the index of each hit's text in `values`, 0 for none. */
const addTexts = (
  { docs, hits, segment }: SegmentHits,
  name: string,
  values: Array<FieldValue | undefined>,
  places: Uint32Array
): boolean => {
  const column = segment.values(name)
  if (column?.single === undefined) return false
  const { single, table } = column,
    codes = new Uint32Array(docs.length)
  for (let i = 0; i < codes.length; i++) codes[i] = single[docs[i]]
  const placeOf = new Map<number, number>([[0, 0]])
  for (let i = 0; i < codes.length; i++) {
    let place = placeOf.get(codes[i])
    if (place === undefined) placeOf.set(codes[i], (place = values.push(table.text(codes[i] - 1)) - 1))
    places[hits[i]] = place
  }
  return true
}
const addNumbers = (
  { docs, hits, segment }: SegmentHits,
  name: string,
  values: Array<FieldValue | undefined>,
  places: Uint32Array
): boolean => {
  const column = segment.numbers(name)
  if (column === undefined) return false
  for (let i = 0; i < docs.length; i++) {
    const value = column.first(docs[i])
    places[hits[i]] = value === undefined ? 0 : values.push(value) - 1
  }
  return true
}

/** The values of a field for all hits; undefined if a segment has no single-valued column of it. O(hits). */
export const hitColumn = (parts: ReadonlyArray<SegmentHits>, hits: number, name: string): WindowColumn | undefined => {
  const values: Array<FieldValue | undefined> = [undefined],
    places = new Uint32Array(hits)
  for (const part of parts) {
    const type = part.fieldNamed(name)?.type
    const isRead =
      part.segment.vectors(name) === undefined &&
      (type === "string"
        ? addTexts(part, name, values, places)
        : (type === "int32" || type === "float") && addNumbers(part, name, values, places))
    if (!isRead) return undefined
  }
  return { values, places }
}
