/**
 * A disk that can lose power: a program runs under a shim that traces its writes and syncs of an LMDB file, and any
 * moment of that trace can be turned into a file that a power cut could have left. Needs Linux and a C compiler.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const PAGE = 4_096

/** Why the simulation cannot run here, or undefined. */
export const simulatedDiskMissing = (): string | undefined => {
  if (process.platform !== "linux") return "the simulated disk needs Linux"
  return spawnSync("cc", ["--version"]).status === 0 ? undefined : "the simulated disk needs a C compiler (cc)"
}

interface Traced {
  readonly kind: string
  readonly offset: number
  readonly bytes: Buffer
}

const parseTrace = (trace: Buffer): Array<Traced> => {
  const parsed: Array<Traced> = []
  for (let at = 0; at + 13 <= trace.length;) {
    const length = trace.readUInt32LE(at + 9)
    const kind = String.fromCharCode(trace[at]!)
    const hasBytes = kind === "W" || kind === "D" || kind === "A"
    parsed.push({
      kind,
      offset: Number(trace.readBigUInt64LE(at + 1)),
      bytes: hasBytes ? trace.subarray(at + 13, at + 13 + length) : Buffer.alloc(0)
    })
    at += 13 + (hasBytes ? length : 0)
  }
  return parsed
}

/**
 * Runs one of our scripts under the shim in `work`; what it writes to the file `acknowledged` there is part of the
 * trace.
 */
export const traceDisk = (work: string, script: string, args: ReadonlyArray<string>): ReadonlyArray<Traced> => {
  const shim = join(work, "simulated-disk.so")
  execFileSync("cc", [
    "-shared",
    "-fPIC",
    "-O1",
    "-o",
    shim,
    fileURLToPath(new URL("./simulated-disk.c", import.meta.url)),
    "-ldl"
  ])
  const flags = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? [] : ["run", "-A"]
  execFileSync(process.execPath, [...flags, script, ...args], {
    env: { ...process.env, LD_PRELOAD: shim, DISK_TRACE: join(work, "trace") }
  })
  return parseTrace(readFileSync(join(work, "trace")))
}

/**
 * Moments worth a cut, alternating: right after an acknowledgement, where a premature answer has the most to lose, and
 * any other.
 */
export const cutsOf = (trace: ReadonlyArray<Traced>, cuts: number, random: () => number): ReadonlyArray<number> => {
  const first = trace.findIndex(({ kind }) => kind === "A")
  const afterAcknowledgement = trace.flatMap(({ kind }, i) => (kind === "A" ? [i + 1] : []))
  return Array.from({ length: cuts }, (_, round) =>
    round % 2 === 0
      ? afterAcknowledgement[Math.floor(random() * afterAcknowledgement.length)]!
      : first + 1 + Math.floor(random() * (trace.length - first - 1))
  )
}

/**
 * A file that a power cut after `trace[..cut]` may leave: synced writes whole, unsynced ones each kept or dropped at
 * random. `acknowledged`: the lines written until then.
 */
export const imageAt = (
  trace: ReadonlyArray<Traced>,
  cut: number,
  random: () => number
): { readonly image: Buffer; readonly acknowledged: ReadonlyArray<string> } => {
  const beganAt = new Map<number, number>()
  let syncedBefore = 0
  for (let i = 0; i < cut; i++) {
    if (trace[i]!.kind === "B") beganAt.set(trace[i]!.offset, i)
    if (trace[i]!.kind === "E") syncedBefore = Math.max(syncedBefore, beganAt.get(trace[i]!.offset) ?? 0)
  }
  const kept = trace
    .slice(0, cut)
    .filter(({ kind }, i) => kind === "D" || (kind === "W" && (i < syncedBefore || random() < 0.5)))
  const image = Buffer.alloc(Math.max(2 * PAGE, ...kept.map((write) => write.offset + write.bytes.length)))
  kept.forEach((write) => write.bytes.copy(image, write.offset))
  const acknowledged = trace.slice(0, cut).flatMap(({ bytes, kind }) => (kind === "A" ? [bytes.toString().trim()] : []))
  return { image, acknowledged }
}
