/**
 * The parts of an installation: the packages of `models/package.json` with the integrity in its lock, and the files
 * taken from them, each with its hash (`models/files.json`). A transcriber's are pinned separately
 * (`models/transcribers.json`): its package depends on half a gigabyte of others, which must not be in our lock. Read
 * when an installation is looked up or created.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TranscriberSize } from "../../ports/transcriber/moonshine/layout.ts"

export const modelsFolder = fileURLToPath(new URL("../../../models", import.meta.url))

export interface PinnedFile {
  /** Relative to the installation's folder. */ readonly path: string
  readonly sha256: string
  readonly bytes: number
}
export interface PinnedPackage {
  readonly name: string
  readonly version: string
  /** `sha512-` and base64, as npm writes it. */ readonly integrity: string
  readonly files: ReadonlyArray<PinnedFile>
}
export interface Pinned {
  readonly packages: ReadonlyArray<PinnedPackage>
  /** The graph, if one is built here from the packages' files. */ readonly graph?: PinnedFile
  /** A hash of everything for this platform: equal ids mean equal installations. */ readonly id: string
}

interface FileRow {
  readonly sha256: string
  readonly bytes: number
  /** Not needed on other platforms. */ readonly platform?: string
}
const GRAPH = "minilm-l6-v2.onnx"
const read = (name: string): unknown => JSON.parse(readFileSync(join(modelsFolder, name), "utf8"))

export const readPinned = (platform = `${process.platform}-${process.arch}`): Pinned => {
  const rows = Object.entries(read("files.json") as Record<string, FileRow>).filter(
    ([, row]) => row.platform === undefined || row.platform === platform
  )
  const files = rows.map(([path, { bytes, sha256 }]): PinnedFile => ({ path, sha256, bytes }))
  const lock = read("package-lock.json") as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>
  }
  const packages = Object.entries(lock.packages).flatMap(([place, { integrity, version }]) => {
    const own = files.filter(({ path }) => path.startsWith(`${place}/`))
    const name = place.replace(/^node_modules\//, "")
    return place === "" || own.length === 0 ? [] : [{ name, version, integrity, files: own }]
  })
  const graph = files.find(({ path }) => path === GRAPH)
  if (graph === undefined) throw new Error("models/files.json does not name the graph.")
  return { packages, graph, id: idOf(files) }
}
const idOf = (files: ReadonlyArray<PinnedFile>): string =>
  createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16)

/** For one transcriber, the same on every platform; its runtime comes with the first installation. */
export const readPinnedTranscriber = (size: TranscriberSize): Pinned => readPinnedVoice(`moonshine-${size}`)
/** The speech detector, which is installed with every transcriber. */
export const readPinnedSpeech = (): Pinned => readPinnedVoice("silero-v5")
const readPinnedVoice = (name: string): Pinned => {
  const all = read("transcribers.json") as Readonly<Record<string, ReadonlyArray<PinnedPackage>>>
  const packages = new Map(Object.entries(all)).get(name)
  if (packages === undefined) throw new Error(`models/transcribers.json does not name ${name}.`)
  return { packages, id: idOf(packages.flatMap(({ files }) => files)) }
}
export const allFiles = ({ graph, packages }: Pinned): ReadonlyArray<PinnedFile> => [
  ...packages.flatMap(({ files }) => files),
  ...(graph === undefined ? [] : [graph])
]
