/**
 * A request to the transcriber's thread as one buffer: the audio, then the openings of documents and their name, if any
 * are given, and last the lengths of both. Pure.
 */
import type { Likely } from "../transcriber.ts"

const NUMBER = 4
const TAIL = 2 * NUMBER
const wholeNumbers = (length: number): number => Math.ceil(length / NUMBER) * NUMBER

export const questionOf = (samples: Float32Array, likely: Likely | undefined): Uint8Array => {
  const name = new TextEncoder().encode(likely?.name ?? "")
  const openings = likely?.openings ?? new Uint8Array()
  const from = samples.byteLength
  const question = new Uint8Array(wholeNumbers(from + name.length + openings.length) + TAIL)
  question.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength))
  question.set(name, from)
  question.set(openings, from + name.length)
  const lengths = new DataView(question.buffer, question.byteLength - TAIL)
  lengths.setUint32(0, name.length)
  // The padding of the last number does not belong to the openings.
  lengths.setUint32(NUMBER, openings.length)
  return question
}
export const readQuestion = (question: ArrayBuffer): { readonly samples: Float32Array; readonly likely?: Likely } => {
  const lengths = new DataView(question, question.byteLength - TAIL)
  const name = lengths.getUint32(0),
    openings = lengths.getUint32(NUMBER)
  const bytes = question.byteLength - TAIL - wholeNumbers(name + openings)
  const samples = new Float32Array(question, 0, bytes / NUMBER)
  if (openings === 0) return { samples }
  const text = new TextDecoder().decode(new Uint8Array(question, bytes, name))
  return { samples, likely: { name: text, openings: new Uint8Array(question, bytes + name, openings) } }
}
