/**
 * The folder of a state store, which outlives the process that writes it, and may remember less than was written when
 * that process dies.
 */
import type { Positions, StateStore } from "../../../streams/state/state.ts"
import type { SimulatedProcess, World } from "./world.ts"

interface FolderFaults {
  /** A snapshot fails, stored or not. */ readonly commit: number
  /** At a crash: the newest snapshots are lost. */ readonly tornBack: number
  /** At a crash: the folder is lost. */ readonly lost: number
}
/** Bugs that can be planted. */
export interface FolderVariant {
  /** A crash may leave the positions of a snapshot without its writes. */
  readonly tearsSnapshots?: boolean
}

interface Version {
  readonly values: ReadonlyMap<string, Uint8Array>
  readonly positions: Positions | undefined
}
const EMPTY: Version = { values: new Map(), positions: undefined }
const VERSIONS_MAX = 4

export class StateFolder {
  readonly #world: World
  readonly #faults: FolderFaults
  readonly #variant: FolderVariant
  /** Newest last; a crash may go back to an older one. */
  #versions: Array<Version> = [EMPTY]

  constructor(world: World, faults: FolderFaults, variant: FolderVariant = {}) {
    this.#world = world
    this.#faults = faults
    this.#variant = variant
  }

  get #current(): Version {
    return this.#versions.at(-1)!
  }

  /** Its process is dead. */
  crash(): void {
    if (this.#world.fails(this.#faults.lost)) {
      this.#world.tell(() => "a state folder is lost")
      this.#versions = [EMPTY]
    } else if (this.#versions.length > 1 && this.#world.fails(this.#faults.tornBack)) {
      const kept = this.#world.draws.whole(1, this.#versions.length - 1)
      this.#world.tell(() => `${this.#versions.length - kept} snapshots are lost`)
      const newest = this.#current
      this.#versions = this.#versions.slice(0, kept)
      if (this.#variant.tearsSnapshots === true)
        this.#versions.push({ values: this.#current.values, positions: newest.positions })
    }
  }
  lose(): void {
    this.#versions = [EMPTY]
  }

  open(process: SimulatedProcess): StateStore {
    const pending = new Set<Promise<void>>()
    const later = (apply: () => void): Promise<void> => {
      const done = new Promise<void>((resolve, reject) =>
        process.deliver(this.#world.latency(), () => {
          const fails = this.#world.fails(this.#faults.commit)
          if (fails && this.#world.draws.chance(0.5)) return reject(new Error("no space left on device"))
          apply()
          if (fails) return reject(new Error("input/output error"))
          process.deliver(this.#world.latency(), resolve)
        })
      )
      pending.add(done)
      void done.catch(() => {}).then(() => pending.delete(done))
      return done
    }
    return {
      get: (key) => this.#current.values.get(key),
      scan: (prefix, after = "") =>
        [...this.#current.values]
          .filter(([key]) => key.startsWith(prefix) && key > after)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      commit: (writes, positions) =>
        later(() => {
          const values = new Map(this.#current.values)
          for (const [key, value] of writes) {
            if (value === undefined) values.delete(key)
            else values.set(key, value.slice())
          }
          this.#versions.push({ values, positions })
          if (this.#versions.length > VERSIONS_MAX) this.#versions.shift()
          this.#world.tell(() => `${process.name} stores a snapshot at ${JSON.stringify(positions)}`)
        }),
      positions: () => this.#current.positions,
      clear: () =>
        later(() => {
          this.#world.tell(() => `${process.name} throws its snapshot away`)
          this.#versions = [EMPTY]
        }),
      close: async () => {
        await Promise.allSettled([...pending])
      }
    }
  }
}
