/**
 * Processor time of this thread. Other processes on a busy machine take wall-clock time that the search did not use, so
 * limits count what the thread has used. The system's own file is preferred to the runtime's figure, which may advance
 * in ticks of ten milliseconds. Read only once a search has taken milliseconds; a reading takes some two microseconds.
 */
interface Files {
  openSync(path: string, flags: string): number
  readSync(file: number, into: Uint8Array, offset: number, length: number, position: number): number
}
interface Runtime {
  readonly threadCpuUsage?: () => { readonly user: number; readonly system: number }
  readonly getBuiltinModule?: (name: string) => unknown
}

const NANOSECONDS = 1e6,
  MICROSECONDS = 1e3
const runtime = (globalThis as { readonly process?: Runtime }).process
/** Linux reports it in nanoseconds, in the first number of a file per thread. */
const fromSchedule = (): (() => number) | undefined => {
  try {
    const files = runtime?.getBuiltinModule?.("node:fs") as Files | undefined
    if (files === undefined) return undefined
    const file = files.openSync("/proc/thread-self/schedstat", "r"),
      bytes = new Uint8Array(64)
    const read = (): number => {
      files.readSync(file, bytes, 0, bytes.length, 0)
      let nanoseconds = 0
      for (let i = 0; i < bytes.length && bytes[i] >= 48 && bytes[i] <= 57; i++)
        nanoseconds = nanoseconds * 10 + bytes[i] - 48
      return nanoseconds / NANOSECONDS
    }
    return read() > 0 ? read : undefined
  } catch {
    return undefined
  }
}
const fromRuntime = (): (() => number) | undefined => {
  const usage = runtime?.threadCpuUsage
  return usage === undefined
    ? undefined
    : () => {
        const { system, user } = usage.call(runtime)
        return (system + user) / MICROSECONDS
      }
}
let clock: (() => number) | undefined
/** Milliseconds since an arbitrary moment; wall-clock time if the system does not report processor time. */
export const threadTime_ms = (): number => (clock ??= fromSchedule() ?? fromRuntime() ?? (() => performance.now()))()
