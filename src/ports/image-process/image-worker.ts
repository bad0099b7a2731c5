/**
 * The program of the process that decodes images, one after another, from its standard input to its standard output. It
 * ends when its input does, which means that its parent has ended.
 */
import { lookAlikeOf } from "../image-embedder/descriptors/look-alike.ts"
import { keptImage, PictureRefused, pixelsOf } from "./decode.ts"
import type { ImageFormat } from "./format.ts"
import { type Frame, frameOf, FrameReader } from "./frames.ts"

const bytesOf = ({ buffer, byteLength, byteOffset }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
const answerTo = async ({ bytes, head }: Frame): Promise<Frame> => {
  const { number, task } = head as { readonly number: number; readonly task: string }
  const format = head.format as ImageFormat
  try {
    if (task === "describe") return { head: { number }, bytes: bytesOf(lookAlikeOf(await pixelsOf(bytes, format))) }
    const { bytes: kept, ...facts } = await keptImage(bytes, format)
    return { head: { number, ...facts }, bytes: kept }
  } catch (error) {
    if (!(error instanceof PictureRefused)) throw error
    return { head: { number, refused: error.message }, bytes: new Uint8Array() }
  }
}

const reader = new FrameReader()
const send = (frame: Frame): void => {
  for (const part of frameOf(frame)) process.stdout.write(part)
}
send({ head: { ready: true }, bytes: new Uint8Array() })
for await (const piece of process.stdin as AsyncIterable<Uint8Array>)
  for (const frame of reader.push(piece)) send(await answerTo(frame))
process.exit(0)
