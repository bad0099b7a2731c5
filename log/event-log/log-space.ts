/** Decides when a log on this machine's disk accepts nothing more, by its size and the free space of the disk. */

export interface LogSpaceOptions {
  /** Maximum size of the log; if absent, only the disk bounds it. */
  readonly bytesMax?: number
  /** What must stay free on its disk, for Postgres and the engine on the same machine. */
  readonly reserveBytes?: number
}

/** The disk is checked once a second, in which less than this is written. */
const DISK_RESERVE_BYTES = 256 * 1024 * 1024

export interface LogUsage {
  /** Size of the file. */
  readonly bytes: number
  /** How much of it is reusable, at least. */
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
