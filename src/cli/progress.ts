/**
 * Progress of long work: one line that is rewritten on a terminal, or a line every two seconds elsewhere. Standard
 * error only.
 */
interface Progress {
  readonly step: (done: number, total?: number) => void
  readonly end: (text: string) => void
}

export const makeProgress = (label: string): Progress => {
  const isTerminal = process.stderr.isTTY === true
  let last = 0
  const line = (done: number, total?: number) => {
    if (total === undefined || total === 0) return `${label} ${done.toLocaleString("en")}`
    const width = 24
    const filled = Math.round((width * done) / total)
    return `${label} [${"#".repeat(filled)}${".".repeat(width - filled)}] ${done.toLocaleString("en")} of ${total.toLocaleString("en")}`
  }
  return {
    step: (done, total) => {
      const now = performance.now()
      if (now - last < (isTerminal ? 100 : 2000)) return
      last = now
      process.stderr.write(isTerminal ? `\r${line(done, total)}` : `${line(done, total)}\n`)
    },
    end: (text) => {
      process.stderr.write(isTerminal ? `\r${text}${" ".repeat(30)}\n` : `${text}\n`)
    }
  }
}
