/**
 * Files of vectors: the part of a stored segment that is not kept in memory. A file is written when its segment is laid
 * out, and is synced when a snapshot names it. It is removed when no segment in memory reads it and no snapshot names
 * it; until the next snapshot is written, a restart may still need the files of the last one.
 */
import { createHash } from "node:crypto"
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from "node:fs"
import { open, type FileHandle } from "node:fs/promises"
import { join } from "node:path"
import type { Outside, OutsideFile } from "../index/sections.ts"
import { nextTurn } from "../turns.ts"

/** Smaller vectors stay in memory, because a file for every single-document write would be too many files. */
export const FILE_MIN_BYTES = 262_144
const READ_AT_ONCE = 1_048_576

export class VectorFiles {
  readonly folder: string
  /** Number of segments in memory that read each file. */ private readonly users = new Map<string, number>()
  /** By collection: the files that its snapshot names, with the hash of each. */
  private readonly named = new Map<number, ReadonlyMap<string, string>>()
  /** Files left by a previous process, until the collection's snapshot shows which of them are used. */
  private readonly left = new Set<string>()
  /** Files to be removed once the current snapshot is written. */ private readonly held = new Set<string>()
  private holds = 0
  private next = 1
  constructor(path: string) {
    this.folder = join(path, "vectors")
    mkdirSync(this.folder, { recursive: true })
    for (const name of readdirSync(this.folder)) {
      this.left.add(name)
      this.next = Math.max(this.next, numberOf(name) + 1)
    }
  }
  /** Collections for which a previous process left files. */
  get owners(): ReadonlyArray<number> {
    return [...this.left].map(ownerOf)
  }
  pathOf(name: string): string {
    return join(this.folder, name)
  }
  /** Where vectors of the collection's new segments are written. */
  of(key: number): Outside {
    return { create: (bytes) => (bytes < FILE_MIN_BYTES ? undefined : this.create(key)) }
  }
  private create(key: number): OutsideFile {
    const name = `${key}-${this.next++}.vec`,
      path = this.pathOf(name),
      file = openSync(path, "wx")
    this.users.set(name, 1)
    return {
      name,
      path,
      append: (bytes) => {
        for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done)
      },
      done: () => closeSync(file),
      giveUp: () => {
        closeSync(file)
        this.drop(path)
      }
    }
  }
  /** Called when a segment stops reading the file. */
  drop(path: string): void {
    const name = path.slice(this.folder.length + 1),
      users = (this.users.get(name) ?? 0) - 1
    if (users > 0) {
      this.users.set(name, users)
      return
    }
    this.users.delete(name)
    this.removeUnneeded(name)
  }
  /** Sets the files that the snapshot names from now on, with their hashes; undefined: there is no snapshot. */
  name(key: number, files: ReadonlyMap<string, string> = new Map()): void {
    const before = this.named.get(key)
    if (files.size === 0) this.named.delete(key)
    else this.named.set(key, files)
    for (const name of before?.keys() ?? []) this.removeUnneeded(name)
    for (const name of this.left)
      if (ownerOf(name) === key) {
        this.left.delete(name)
        this.removeUnneeded(name)
      }
  }
  private removeUnneeded(name: string): void {
    if (this.holds > 0) {
      this.held.add(name)
      return
    }
    if (this.users.has(name) || this.named.get(ownerOf(name))?.has(name) === true) return
    rmSync(this.pathOf(name), { force: true })
  }
  /** No file is removed while `work` runs, because a snapshot names files that a merge may release. */
  async holding<A>(work: () => Promise<A>): Promise<A> {
    this.holds++
    try {
      return await work()
    } finally {
      this.holds--
      const names = [...this.held]
      this.held.clear()
      for (const name of names) this.removeUnneeded(name)
    }
  }

  /** Syncs a file to disk; returns its hash. O(bytes) for a file that no snapshot names yet. */
  async sealed(name: string): Promise<string> {
    const known = this.named.get(ownerOf(name))?.get(name)
    if (known !== undefined) return known
    const file = await open(this.pathOf(name), "r+")
    try {
      await file.sync()
      return (await read(file)).hash
    } finally {
      await file.close()
    }
  }
  /** Syncs the folder, so that file names survive a crash. */
  async sealFolder(): Promise<void> {
    const folder = await open(this.folder, "r")
    await folder.sync()
    await folder.close()
  }
  /** Called before a segment of a snapshot reads the file; false if the file was altered. */
  async take(name: string, bytes: number, hash: string): Promise<boolean> {
    if (!(await this.isWhole(name, bytes, hash))) return false
    this.users.set(name, (this.users.get(name) ?? 0) + 1)
    return true
  }
  private async isWhole(name: string, bytes: number, hash: string): Promise<boolean> {
    let file: FileHandle
    try {
      file = await open(this.pathOf(name), "r")
    } catch (error) {
      if ((error as { readonly code?: string }).code === "ENOENT") return false
      throw error
    }
    try {
      const found = await read(file)
      return found.bytes === bytes && found.hash === hash
    } finally {
      await file.close()
    }
  }
}
const read = async (file: FileHandle): Promise<{ readonly hash: string; readonly bytes: number }> => {
  const hash = createHash("sha1"),
    part = new Uint8Array(READ_AT_ONCE)
  for (let bytes = 0; ;) {
    const { bytesRead } = await file.read(part, 0, part.length, bytes)
    if (bytesRead === 0) return { hash: hash.digest("base64"), bytes }
    bytes += bytesRead
    hash.update(part.subarray(0, bytesRead))
    await nextTurn()
  }
}
const numbersIn = (name: string): ReadonlyArray<number> => name.split(/[-.]/).map(Number)
const ownerOf = (name: string): number => numbersIn(name)[0]
const numberOf = (name: string): number => numbersIn(name)[1] || 0
/** Whether this folder could have given the name to a file of the collection. */
export const isVectorFile = (key: number, name: string): boolean => /^\d+-\d+\.vec$/.test(name) && ownerOf(name) === key
