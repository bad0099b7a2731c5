/**
 * Soon after a start the largest collections are opened and searched, so that the first searcher after a restart waits
 * neither for the opening nor for code that has never run. Small collections open in a few milliseconds.
 */
import type { PractisingEngine } from "@dowser/engine-sdk/operations"
import { memoryResources, warmUp } from "@dowser/engine-sdk/operations"

/** The first check is delayed: the program's own start has priority, and search threads take two seconds to start. */
const LOOK_MS = 3_000,
  LOOK_MAX_MS = 600_000
const DOCUMENTS_MIN = 1_000
const COLLECTIONS_MAX = 16
/**
 * Rounds of the first collection, which also compile the code, and of every other one. With 3, the first facet
 * over values that are all different took 32-36 ms, with 12 14-17 (`npm run bench -- first-searches --products
 * 200000`); the rounds take the accepting thread about a second, a few milliseconds at a time.
 */
export const ROUNDS_FIRST = 10
const ROUNDS = 1

interface Named {
  readonly namespace: string
  readonly name: string
  readonly documents: number
}
/** The collections to open at start, largest first. Pure. */
export const worthOpening = (collections: ReadonlyArray<Named>): ReadonlyArray<Named> =>
  collections
    .filter(({ documents }) => documents >= DOCUMENTS_MIN)
    .toSorted((a, b) => b.documents - a.documents)
    .slice(0, COLLECTIONS_MAX)

const collectionsOf = (engine: PractisingEngine): ReadonlyArray<Named> =>
  (engine.namespaces?.() ?? []).flatMap((namespace) =>
    engine.listCollections(namespace).map(({ num_documents, schema }) => ({
      namespace,
      name: schema.name,
      documents: num_documents
    }))
  )
const isOpen = async (engine: PractisingEngine): Promise<boolean> => (await engine.health()).ok

/** Opens and searches collections, one at a time, until the open ones take half of the budget. */
export const warmAll = async (engine: PractisingEngine, budget_bytes: number): Promise<void> => {
  let open_bytes = 0
  for (const [at, { name, namespace }] of worthOpening(collectionsOf(engine)).entries()) {
    if (open_bytes > budget_bytes / 2 || !(await isOpen(engine))) return
    const context = { engine, resources: memoryResources(), namespace, now_s: 0 }
    await warmUp(context, name, at === 0 ? ROUNDS_FIRST : ROUNDS)
    open_bytes += engine.usage(namespace, name)?.index_bytes ?? 0
  }
}

/**
 * Runs once, as soon as there is a collection that is large enough. Without one the check is repeated ever more rarely,
 * so that ten thousand small tenants are not listed every few seconds.
 */
export const warmSoon = (engine: PractisingEngine, budget_bytes: number, onError: (error: unknown) => void): void => {
  const look = async (next_ms: number): Promise<void> => {
    if (!(await isOpen(engine))) return
    if (worthOpening(collectionsOf(engine)).length === 0) later(Math.min(LOOK_MAX_MS, next_ms))
    else await warmAll(engine, budget_bytes)
  }
  const later = (wait_ms: number): void => {
    setTimeout(() => void look(2 * wait_ms).catch(onError), wait_ms).unref()
  }
  later(LOOK_MS)
}
