/** An engine without a disk: everything is in this process and ends with it. */
import { MemoryJournal } from "../store/journal.ts"
import { APPROXIMATE_FROM } from "../store/vector-graphs.ts"
import { Writer } from "../store/writer.ts"
import { LocalEngine } from "./local-engine.ts"

/**
 * Searches and writes run on the calling thread; imports yield every few milliseconds.
 *
 * @example
 * ```ts
 * import { createEngine, createSearch } from "@dowser/engine-sdk"
 *
 * const engine = createEngine()
 * const shoes = createSearch({ engine, name: "shoes" })
 * const hats = createSearch({ engine, name: "hats" })
 * await shoes.add({ title: "Trail running shoe" })
 * await hats.add({ title: "Straw hat" })
 * ```
 */
export const createEngine = ({
  approximateFrom = APPROXIMATE_FROM
}: { /** As in `openEngine`. */ readonly approximateFrom?: number } = {}): LocalEngine => {
  const journal = new MemoryJournal()
  const engine = new LocalEngine(
    "memory",
    { text: (key, seq) => journal.get(key, seq), bytes: (key) => journal.documentBytes(key), refresh: () => {} },
    Infinity,
    approximateFrom
  )
  engine.attach(
    new Writer(
      journal,
      (event) => engine.apply(event),
      { prepare: (...given) => engine.prepare(...given), searches: (key) => engine.searches(key) },
      approximateFrom
    )
  )
  return engine
}
