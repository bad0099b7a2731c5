/** When a log on this machine's disk takes nothing more: decided from what it holds and what the disk has left. */

export interface LogSpaceOptions {
  /** The most that the log may hold; bounded by the disk alone when absent. */
  readonly bytesMax?: number
  /** What must stay free on its disk, for Postgres and the engine beside it. */
  readonly reserveBytes?: number
}

/** Looked at once a second, in which less than this is written. */
const DISK_RESERVE_BYTES = 256 * 1024 * 1024

export interface LogUsage {
  /** Size of the file. */
  readonly bytes: number
  /** The part of it that is at least reusable. */
  readonly reusableBytes: number
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`

/** Why nothing more is accepted, or undefined. `freeBytes` is what the disk has free. */
export const spaceRefusal = (
  { bytes, reusableBytes }: LogUsage,
  freeBytes: number,
  { bytesMax, reserveBytes = DISK_RESERVE_BYTES }: LogSpaceOptions
): string | undefined => {
  const held = bytes - reusableBytes
  if (bytesMax !== undefined && held >= bytesMax)
    return `the event log holds ${megabytes(held)}, and ${megabytes(bytesMax)} is its bound`
  if (freeBytes + reusableBytes < reserveBytes)
    return `${megabytes(freeBytes + reusableBytes)} are left for the event log on its disk, and ${megabytes(reserveBytes)} must stay free`
  return undefined
}
