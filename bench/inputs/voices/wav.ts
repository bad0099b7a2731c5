/** Encodes the samples that voices return as a 16-bit mono WAV. */

/** Returns a text spoken by one of its voices, as a WAV. */
export type Speaker = (text: string, voice: string) => Promise<Buffer>

export const wavOf = (samples: Float32Array, rate: number): Buffer => {
  const bytes = Buffer.alloc(44 + 2 * samples.length)
  bytes.write("RIFF", 0)
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write("WAVEfmt ", 8)
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(rate, 24)
  bytes.writeUInt32LE(2 * rate, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write("data", 36)
  bytes.writeUInt32LE(2 * samples.length, 40)
  for (const [i, sample] of samples.entries())
    bytes.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), 44 + 2 * i)
  return bytes
}
