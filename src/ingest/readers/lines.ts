/** Splits a byte stream into lines, without copying lines that lie within one chunk. */

/** `bytes` is undefined if the line exceeds the limit; such a line is skipped. */
export interface Line {
  readonly number: number
  readonly bytes: Uint8Array | undefined
}

const NEWLINE = 0x0a
/** Yields all lines that end in each chunk, and the last line. */
export async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  bytesMax: number
): AsyncGenerator<ReadonlyArray<Line>> {
  let number = 0,
    held: Array<Uint8Array> = [],
    size = 0
  const take = (end: Uint8Array): Line => {
    const length = size + end.length
    const bytes = length > bytesMax ? undefined : held.length === 0 ? end : Buffer.concat([...held, end], length)
    held = []
    size = 0
    return { number: ++number, bytes }
  }
  for await (const piece of pieces) {
    const lines: Array<Line> = []
    let from = 0
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, from)) {
      lines.push(take(piece.subarray(from, at)))
      from = at + 1
    }
    const rest = piece.subarray(from)
    if (size <= bytesMax && rest.length > 0) held.push(rest)
    size += rest.length
    // A line that is already too long is not kept.
    if (size > bytesMax) held = []
    if (lines.length > 0) yield lines
  }
  if (size > 0) yield [take(new Uint8Array(0))]
}
