/**
 * A long text on its way out. Encoded and handed to the socket in one piece, an answer of many megabytes blocks
 * everybody (10 to 20 MB: 30 to 120 ms of the thread); in pieces, others have their turns in between.
 */
import { Readable } from "node:stream"
import { givingWay } from "@dowser/engine-sdk/host"

/** From this many characters on a text goes in pieces: below, it is one write of about a millisecond. */
export const IN_PIECES_CHARS = 262_144
const PIECE_CHARS = 65_536

const isHighSurrogate = (code: number): boolean => (code & 0xfc00) === 0xd800
/** The text's bytes in UTF-8, in order. No character is cut in two. */
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
/** As fast as it is read, one piece at a time. */
export const textInPieces = (text: string): Readable => Readable.from(inTurns(text), { objectMode: false })
