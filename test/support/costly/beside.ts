/**
 * How long one tenant's searches make another's wait, independent of the machine's other load: the processor time that
 * the searching thread used between sending a small search and receiving its answer, including the small search itself.
 */
import { readFileSync } from "node:fs"

/** Processor milliseconds of the thread on which a single-process program answers requests: its first. */
const frontTime_ms = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6

interface Waits {
  readonly waits_ms: ReadonlyArray<number>
  readonly failures: ReadonlyArray<string>
  readonly stop: () => Promise<void>
}
/** Runs searches one after the other until stopped. `isRight` checks each answer. */
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
