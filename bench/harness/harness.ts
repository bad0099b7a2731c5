/**
 * Shared by all benches: figures about this machine, percentiles, processor time of a process and of one thread, and
 * the one way to write results. Memory and sizes are printed before speed; a checksum keeps results from being
 * optimized away.
 */
import { createHash } from "node:crypto"
import { createReadStream, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"
import { createGunzip } from "node:zlib"

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memory_gib: number
  readonly runtime: string
  readonly load_1m: number
}

export const machine = (): Machine => {
  const deno = (globalThis as { readonly Deno?: { readonly version: { readonly deno: string } } }).Deno
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memory_gib: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    runtime: deno === undefined ? `Node ${process.versions.node}` : `Deno ${deno.version.deno}`,
    load_1m: Math.round(loadavg()[0] * 100) / 100
  }
}

/** Does not interpolate: a percentile is a latency that was measured. Sorts `values` in place. */
export const percentiles = (
  values: Float64Array | Array<number>
): { readonly p50_ms: number; readonly p95_ms: number; readonly p99_ms: number; readonly max_ms: number } => {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) =>
    sorted.length === 0 ? 0 : round(sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)])
  return { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: at(1) }
}
export const round = (value: number, digits = 3): number => Math.round(value * 10 ** digits) / 10 ** digits

/** Lines of a file, which may be `.gz`, one at a time. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const source = createReadStream(file)
  const input = file.endsWith(".gz") ? source.pipe(createGunzip()) : source
  const decoder = new TextDecoder()
  let rest = ""
  // Only line feeds end a line. The runtime's reader also splits at U+2028, which JSON text may contain unescaped.
  for await (const bytes of input as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const text = line.endsWith("\r") ? line.slice(0, -1) : line
      if (text !== "") yield text
    }
  }
  rest += decoder.decode()
  if (rest.trim() !== "") yield rest
}
export const readLines = async (file: string): Promise<Array<string>> => {
  const all: Array<string> = []
  for await (const line of linesOf(file)) all.push(line)
  return all
}

/** JSON lines in chunks, as an import body arrives. */
export async function* chunksOf(lines: ReadonlyArray<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  // As large as the chunks that a server passes on.
  for (let at = 0, to = 0; at < lines.length; at = to) {
    let characters = 0
    while (to < lines.length && characters < 65_536) characters += lines[to++].length
    yield encoder.encode(`${lines.slice(at, to).join("\n")}\n`)
  }
}

/** 100 ticks a second on Linux, whatever the kernel's own rate. */
const ticksPerSecond = 100
const ticksOf = (file: string): number => {
  const fields = readFileSync(file, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
  return Number(fields[11]) + Number(fields[12])
}
/** Seconds of processor time of the whole process and of its first thread (the one that accepts). */
export const processorSeconds = (pid: number): { readonly process: number; readonly firstThread: number } => ({
  process: ticksOf(`/proc/${pid}/stat`) / ticksPerSecond,
  firstThread: ticksOf(`/proc/${pid}/task/${pid}/stat`) / ticksPerSecond
})
/**
 * Processor seconds of a process and of everything it started, including the embedded Postgres and children that
 * ended and were waited for. A child that nobody waited for is missed.
 */
export const treeSeconds = (pid: number): number => {
  const parents = new Map<number, Array<number>>()
  const ticks = new Map<number, number>()
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")
      const parent = Number(fields[1])
      parents.set(parent, [...(parents.get(parent) ?? []), Number(name)])
      ticks.set(
        Number(name),
        [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
      )
    } catch {
      /* The process ended while the list was read. */
    }
  }
  const sum = (of: number): number =>
    (ticks.get(of) ?? 0) + (parents.get(of) ?? []).reduce((before, child) => before + sum(child), 0)
  return sum(pid) / ticksPerSecond
}
/** Memory of the process itself, without the pages of files that it maps, which the system can reclaim. */
export const ownMb = (pid: number): number => {
  const line = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  return line === null ? 0 : Math.round(Number(line[1]) / 1024)
}
export const rssMb = (pid: number): number => {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  return line === null ? 0 : Math.round(Number(line[1]) / 1024)
}

export const checksum = (values: Iterable<string>): string => {
  const hash = createHash("sha256")
  for (const value of values) hash.update(value).update("\n")
  return hash.digest("hex").slice(0, 16)
}

/** Prints the figures that fit a screen, and writes all of them if a file was named. */
export const report = (title: string, figures: Readonly<Record<string, unknown>>, out: string | undefined): void => {
  process.stdout.write(`\n${title}\n`)
  for (const [name, value] of Object.entries(figures)) {
    if (Array.isArray(value)) continue
    process.stdout.write(`  ${name.padEnd(32)} ${typeof value === "object" ? JSON.stringify(value) : String(value)}\n`)
  }
  writeFigures(figures, out)
}
/** Machine-readable results of every bench: one JSON object with all its figures, written if a file was named. */
export const writeFigures = (figures: Readonly<Record<string, unknown>>, out: string | undefined): void => {
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(figures)}\n`)
}
