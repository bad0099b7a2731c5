/**
 * Segments that an older version stored with their vectors inside. The vectors move to a file when a segment is read.
 */
import {
  SectionReader,
  SectionWriter,
  type Allocate,
  type Outside,
  type Region,
  type SegmentMeta
} from "../index/sections.ts"
import { inSlices } from "../turns.ts"
import { FILE_MIN_BYTES } from "./vector-files.ts"

const SLICE_MS = 0.5
const isVectors = (name: string): boolean => /^e\d+\.values$/.test(name)

export const hasVectorsInside = ({ sections }: SegmentMeta): boolean =>
  sections.some(({ count, name, outside }) => outside !== true && isVectors(name) && count * 4 >= FILE_MIN_BYTES)

/** Lays the same segment out again; `bytes` are not modified. */
export const withVectorsOutside = (
  meta: SegmentMeta,
  bytes: Uint8Array,
  allocate: Allocate,
  outside: Outside
): Promise<{ readonly meta: SegmentMeta; readonly region: Region }> => {
  // Copied, because the copy is aligned for eight-byte numbers.
  const { buffer } = bytes.slice()
  const sections = new SectionReader(meta, { buffer, offset: 0, length: bytes.length })
  const out = new SectionWriter()
  for (const { count, name } of meta.sections) {
    if (!isVectors(name)) {
      out.put(name, sections.array(name))
      continue
    }
    const values = sections.f32(name),
      width = count / meta.docs
    out.putRows(name, {
      width,
      count: meta.docs,
      fill: (piece, from) => piece.set(values.subarray(from * width, from * width + piece.length))
    })
  }
  return inSlices(out.finishing(meta.docs, meta.fields, allocate, outside), SLICE_MS)
}
