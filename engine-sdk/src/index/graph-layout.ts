/**
 * Converts the library's own file to what searches read: one byte per number with a scale per vector, and lists of
 * links without unused space. The library reserves space for twice M links of four bytes at every node, and 70 more
 * bytes per vector in every thread that opens its file.
 */
import type { VectorColumn } from "./columns.ts"
import { LINK_BYTES, PLACES, strideOf, toBytes } from "./graph-search.ts"
import { SectionWriter, type Allocate, type Region, type SegmentMeta } from "./sections.ts"

/** Header of the copy of the vectors that precedes the links: `rows` and `bytes` per row. */
export const MATRIX_HEAD_BYTES = 8
const HEAD_BYTES = 64,
  COUNTS_BYTES = 40,
  LEVEL_BYTES = 2,
  NODE_BYTES = 10
const STEP = 1_024
/** Links take three bytes each. */
const NODES_MAX = 2 ** (8 * LINK_BYTES)

interface Links {
  readonly docs: Uint32Array
  readonly starts: Uint32Array
  readonly links: Uint8Array
  readonly upper: Uint32Array
  readonly upperLists: Uint32Array
  readonly upperStarts: Uint32Array
  readonly upperLinks: Uint32Array
  readonly entry: Uint32Array
}
/**
 * Reads the links. `bytes`: what follows the copy of the vectors. Throws if they are not in the format of the known
 * library version.
 */
export function* linksIn(bytes: Uint8Array, vectors: number): Generator<void, Links> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const count = (at: number): number => Number(view.getBigUint64(HEAD_BYTES + at * 8, true))
  const [nodes, most, mostBelow, levels, entry] = [0, 1, 2, 3, 4].map(count)
  if (nodes !== vectors || nodes >= NODES_MAX || entry >= nodes)
    throw new Error(`the library's file has ${nodes} nodes for ${vectors} vectors`)
  const docs = new Uint32Array(nodes),
    starts = new Uint32Array(nodes + 1),
    upper: number[] = [],
    upperLists: number[] = [],
    upperStarts = [0],
    upperLinks: number[] = []
  const levelAt = HEAD_BYTES + COUNTS_BYTES,
    nodesAt = levelAt + nodes * LEVEL_BYTES
  let links = new Uint8Array(nodes * LINK_BYTES * most)
  for (let node = 0, at = nodesAt, to = 0; node < nodes; node++) {
    docs[node] = Number(view.getBigUint64(at, true))
    const level = view.getInt16(levelAt + node * LEVEL_BYTES, true)
    at += NODE_BYTES
    const own = view.getUint32(at, true)
    if (own > mostBelow) throw new Error("the library's file is not as it was written by the version that is known")
    if (to + own * LINK_BYTES > links.length) links = grown(links)
    for (let i = 0; i < own; i++, to += LINK_BYTES) {
      const other = view.getUint32(at + 4 + i * 4, true)
      links[to] = other
      links[to + 1] = other >>> 8
      links[to + 2] = other >>> 16
    }
    starts[node + 1] = to / LINK_BYTES
    at += 4 + mostBelow * 4
    if (level > 0) {
      upper.push(node)
      upperLists.push(upperStarts.length - 1)
    }
    for (let l = 0; l < level; l++, at += 4 + most * 4) {
      for (let i = 0, end = view.getUint32(at, true); i < end; i++)
        upperLinks.push(view.getUint32(at + 4 + i * 4, true))
      upperStarts.push(upperLinks.length)
    }
    if (node === nodes - 1 && at !== bytes.length)
      throw new Error(`the library's file has ${bytes.length} bytes of links, not ${at}`)
    if (node % STEP === STEP - 1) yield
  }
  return {
    docs,
    starts,
    links: links.subarray(0, starts[nodes] * LINK_BYTES),
    upper: Uint32Array.from(upper),
    upperLists: Uint32Array.from(upperLists),
    upperStarts: Uint32Array.from(upperStarts),
    upperLinks: Uint32Array.from(upperLinks),
    entry: Uint32Array.of(entry, levels)
  }
}
const grown = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}

/** Lays out the graph in its own memory. A caller that starts it must run it to the end (`SectionWriter.finishing`). */
export function* layOutGraph(
  links: Links,
  column: VectorColumn,
  isCosine: boolean,
  allocate: Allocate
): Generator<void, { readonly meta: SegmentMeta; readonly region: Region }> {
  const nodes = links.docs.length,
    stride = strideOf(column.dimensions),
    scales = new Float32Array(nodes),
    codes = new Int8Array(nodes * stride)
  for (let node = 0; node < nodes; node++) {
    const vector = column.vector(links.docs[node])
    let squares = 0
    if (isCosine) for (let i = 0; i < vector.length; i++) squares += vector[i] * vector[i]
    const unit = toBytes(vector, codes, node * stride) / (isCosine ? Math.sqrt(squares) : 1)
    scales[node] = Number.isFinite(unit) ? unit : 0
    if ((node & 63) === 63) yield
  }
  const out = new SectionWriter()
  out.put("locks", new Int32Array(PLACES))
  out.put("places", new Int16Array(PLACES * stride))
  out.put("codes", codes)
  out.put("scales", scales)
  for (const [name, array] of Object.entries(links)) out.put(name, array as Uint32Array)
  return yield* out.finishing(nodes, [], allocate)
}
