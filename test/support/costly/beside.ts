/**
 * What one tenant's searches wait for another's, whatever else the machine does: the processor time that the searching
 * thread used between the moment a small search was sent and its answer, the small search itself included.
 */
import { readFileSync } from "node:fs"

/** Milliseconds of the thread on which a program of one process answers requests: its first. */
const frontTime_ms = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6

interface Waits {
  readonly waits_ms: ReadonlyArray<number>
  readonly failures: ReadonlyArray<string>
  readonly stop: () => Promise<void>
}
/** Searches one after the other until it is stopped. `isRight` looks at each answer. */
export const searchBeside = (
  pid: number,
  search: () => Promise<{ readonly status: number; readonly text: string }>,
  isRight: (text: string) => boolean
): Waits => {
  const waits_ms: Array<number> = [],
    failures: Array<string> = []
  let isStopped = false
  const running = (async () => {
    while (!isStopped) {
      const before = frontTime_ms(pid)
      const { status, text } = await search().catch((error: unknown) => ({ status: 0, text: String(error) }))
      if (status === 0) {
        failures.push(text)
        return
      }
      waits_ms.push(frontTime_ms(pid) - before)
      if (status !== 200 || !isRight(text)) failures.push(`${status}: ${text.slice(0, 200)}`)
      await new Promise((settle) => setTimeout(settle, 110))
    }
  })()
  return {
    waits_ms,
    failures,
    stop: async () => {
      isStopped = true
      await running
    }
  }
}
export const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!
