/** Joins a model's pieces to words; a word's confidence is that of its least certain piece. Pure. */
import type { SpokenWord } from "../transcriber.ts"

interface ScoredPiece {
  /** As in a SentencePiece vocabulary. */ readonly piece: string
  readonly score: number
}
/** Prefix of a piece that begins a word. */
const SPACE = "▁"
const BYTE = /^<0x([0-9A-F]{2})>$/
const MARK = /^<.*>$/

export const wordsOfTokens = (pieces: ReadonlyArray<ScoredPiece>): ReadonlyArray<SpokenWord> => {
  const words: Array<{ bytes: Array<number>; score: number }> = []
  const encoder = new TextEncoder()
  for (const { piece, score } of pieces) {
    const [, byte] = BYTE.exec(piece) ?? []
    if (byte === undefined && MARK.test(piece)) continue
    const isNew = words.length === 0 || piece.startsWith(SPACE)
    if (isNew) words.push({ bytes: [], score: 1 })
    const word = words.at(-1)!
    word.bytes.push(
      ...(byte === undefined ? encoder.encode(piece.replaceAll(SPACE, " ")) : [Number.parseInt(byte, 16)])
    )
    word.score = Math.min(word.score, score)
  }
  const decoder = new TextDecoder()
  return words.flatMap(({ bytes, score }) => {
    const text = decoder.decode(Uint8Array.from(bytes)).trim()
    return text === "" ? [] : [{ text, score }]
  })
}
