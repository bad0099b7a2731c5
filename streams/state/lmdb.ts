/**
 * The state store on disk: an LMDB environment per processor and partition, written only by the thread that runs it.
 */
import { open } from "lmdb"
import type { Positions, StateStore } from "./state.ts"

const POSITIONS = "\u0001positions"
/** Sorts after every key that begins with a given prefix. */
const LAST = "\uffff"

export const openStateStore = (path: string): StateStore => {
  const root = open<Buffer, string>({ path, encoding: "binary" })
  return {
    get: (key) => root.get(key),
    *scan(prefix, after) {
      for (const { key, value } of root.getRange({
        start: after === undefined || after === "" ? prefix : after,
        end: prefix + LAST,
        snapshot: false
      })) {
        if (key !== after) yield [key, value]
      }
    },
    commit: async (writes, positions) => {
      const reached = Buffer.from(JSON.stringify(positions))
      await root.batch(() => {
        for (const [key, value] of writes) {
          if (value === undefined) void root.remove(key)
          else void root.put(key, value as Buffer)
        }
        void root.put(POSITIONS, reached)
      })
      await root.flushed
      root.resetReadTxn()
    },
    positions: () => {
      const stored = root.get(POSITIONS)
      return stored === undefined ? undefined : (JSON.parse(stored.toString()) as Positions)
    },
    clear: () => root.clearAsync(),
    close: () => root.close()
  }
}
