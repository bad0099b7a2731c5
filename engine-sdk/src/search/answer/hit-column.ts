/**
 * A field of all hits of a window at once. Documents of hits lie anywhere in a column, so each costs a look into memory
 * that is not at hand; one tight loop makes the processor wait for many of them at the same time, where hit by hit it
 * waits for each. And a window has few brands and colours between its hits: a text is made once for all that have it.
 */
import type { Segment } from "../../index/segment.ts"
import type { FieldValue, WindowColumn } from "../../plan.ts"
import type { Field } from "../../schema.ts"

/** Hits whose documents are in one segment. */
export interface SegmentHits {
  readonly segment: Segment
  readonly fieldNamed: (name: string) => Field | undefined
  readonly docs: Array<number>
  /** Of each document: its hit. */ readonly hits: Array<number>
}

/** Of texts: a place for each ordinal, 0 for none. */
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

/** undefined where a segment has no column with one value a document. O(hits). */
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
