/**
 * Sends a long text in chunks. Encoded and passed to the socket in one call, a response of many megabytes blocks
 * everybody (10 to 20 MB: 30 to 120 ms of the thread); with chunks, others have their turns in between.
 */
import { Readable } from "node:stream"
import { givingWay } from "@dowser/engine-sdk/host"

/** A text of at least this many characters is sent in chunks; a shorter one is one write of about a millisecond. */
export const IN_PIECES_CHARS = 262_144
const PIECE_CHARS = 65_536

const isHighSurrogate = (code: number): boolean => (code & 0xfc00) === 0xd800
/** The text's bytes in UTF-8, in order, without splitting a character. */
export function* piecesOf(text: string): Generator<Buffer> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE_CHARS)
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--
    yield Buffer.from(text.slice(at, end))
    at = end
  }
}
async function* inTurns(text: string): AsyncGenerator<Buffer> {
  const give = givingWay()
  for (const piece of piecesOf(text)) {
    yield piece
    await give()
  }
}
/** Produces one chunk at a time, as fast as the stream is read. */
export const textInPieces = (text: string): Readable => Readable.from(inTurns(text), { objectMode: false })
