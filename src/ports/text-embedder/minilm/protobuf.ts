/** Encodes protocol buffers as far as an ONNX model needs them: numbers, lengths and nested messages. */

/** The bytes of a message in pieces, so that tensors of megabytes are copied only once, into the file. */
export type Pieces = ReadonlyArray<Uint8Array>

/** A negative number is encoded as ten bytes of two's complement, as the format requires. */
const varint = (value: number): Uint8Array => {
  if (value < 0) return negative(BigInt.asUintN(64, BigInt(value)))
  const bytes: Array<number> = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return Uint8Array.from(bytes)
}
const negative = (value: bigint): Uint8Array => {
  const bytes: Array<number> = []
  for (let rest = value; rest > 0n; rest >>= 7n) bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0))
  return Uint8Array.from(bytes)
}
/** A field's number and wire type: 0 for a number, 2 for a length and that many bytes, 5 for four bytes. */
const tag = (field: number, wire: 0 | 2 | 5): Uint8Array => varint(field * 8 + wire)

export const int = (field: number, value: number): Pieces => [tag(field, 0), varint(value)]
export const float = (field: number, value: number): Pieces => [
  tag(field, 5),
  new Uint8Array(Float32Array.of(value).buffer)
]
export const bytes = (field: number, value: Uint8Array): Pieces => [tag(field, 2), varint(value.length), value]
export const text = (field: number, value: string): Pieces => bytes(field, new TextEncoder().encode(value))
export const message = (field: number, ...parts: ReadonlyArray<Pieces>): Pieces => {
  const pieces = parts.flat()
  return [tag(field, 2), varint(pieces.reduce((sum, piece) => sum + piece.length, 0)), ...pieces]
}
