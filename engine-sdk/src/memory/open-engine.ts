/** The durable engine: documents and schemas are stored on disk; searches run on the calling thread over memory. */
import { EarlyReads } from "./early-reads.ts"
import { LmdbJournal } from "../store/lmdb-journal.ts"
import { LmdbReads } from "../store/lmdb-reads.ts"
import { RemoteWriter } from "../store/remote-writer.ts"
import { APPROXIMATE_FROM } from "../store/vector-graphs.ts"
import { Writer } from "../store/writer.ts"
import { LocalEngine } from "./local-engine.ts"
import { OtherThreads } from "./other-threads.ts"
import { WORKERS_MAX, type SearchWorkers } from "../lane/placing.ts"

export interface OpenEngineOptions {
  /** A folder that only this engine uses; created if missing. */ readonly path: string
  /**
   * Builds the index in a worker thread, so that searches never wait for an import; long searches run in separate
   * threads.
   */
  readonly worker?: boolean
  /**
   * With `worker`: threads that run searches over the same index, so that several run at the same time and this thread
   * only sends and receives them. A number, or the conditions under which searches are sent to them. Searches whose
   * hits are reordered still run on this thread. Each thread uses up to 60 MB of its own. Default: 0.
   */
  readonly searchWorkers?: number | SearchWorkers
  /** Index memory of open collections; beyond it, the least recently used ones are closed. Default: no limit. */
  readonly memoryBudgetBytes?: number
  /**
   * Number of vectors of a field in one segment from which an approximate index is built; `Infinity` = always exact.
   * Default: 10,000.
   */
  readonly approximateFrom?: number
}

const checked = (workers: SearchWorkers, isThreaded: boolean): SearchWorkers => {
  const { cost_min_ms = 0, count, documents_min = 0, here_share = 0 } = workers
  const wrong = [
    ...(Number.isInteger(count) && count >= 0 && count <= WORKERS_MAX
      ? []
      : [`\`count\` must be a whole number from 0 to ${WORKERS_MAX}, not ${count}`]),
    ...(count > 0 && !isThreaded ? ["workers need `worker: true`"] : []),
    ...(documents_min >= 0 ? [] : [`\`documents_min\` must not be negative, as ${documents_min} is`]),
    ...(cost_min_ms >= 0 ? [] : [`\`cost_min_ms\` must not be negative, as ${cost_min_ms} is`]),
    ...(here_share >= 0 && here_share <= 1 ? [] : [`\`here_share\` must be from 0 to 1, not ${here_share}`])
  ]
  if (wrong.length > 0) throw new RangeError(`searchWorkers: ${wrong.join("; ")}.`)
  return workers
}

/**
 * Rejects with a RangeError that names every invalid option, and if the folder cannot be opened or belongs to another
 * version. Collections are loaded on first use.
 *
 * @example
 * ```ts
 * import { createSearch, openEngine } from "@dowser/engine-sdk"
 *
 * const engine = await openEngine({ path: "./products", worker: true })
 * const products = createSearch({ engine })
 * await products.add({ title: "Trail running shoe" }) // is on the disk now
 * await engine.close()
 * ```
 */
export const openEngine = async ({
  path,
  worker = false,
  searchWorkers = 0,
  memoryBudgetBytes = Infinity,
  approximateFrom = APPROXIMATE_FROM
}: OpenEngineOptions): Promise<LocalEngine> => {
  const workers = checked(typeof searchWorkers === "number" ? { count: searchWorkers } : searchWorkers, worker)
  if (!worker) {
    const journal = await LmdbJournal.open(path)
    const engine = new LocalEngine(
      "embedded",
      new EarlyReads({
        text: (key, seq) => journal.readable(key, seq),
        bytes: (key) => journal.documentBytes(key),
        refresh: () => {}
      }),
      memoryBudgetBytes,
      approximateFrom
    )
    const writer = new Writer(
      journal,
      (event) => engine.apply(event),
      { prepare: (...given) => engine.prepare(...given), searches: (key) => engine.searches(key) },
      approximateFrom
    )
    engine.attach(writer)
    writer.start()
    return engine
  }
  const early: Array<Parameters<LocalEngine["apply"]>[0]> = []
  let apply = (event: (typeof early)[number]): void => {
    early.push(event)
  }
  let lost = (_message: string): void => {}
  let prepare: LocalEngine["prepare"] = async () => {}
  const threads = new OtherThreads(path, workers)
  const writer = await RemoteWriter.start(
    path,
    {
      emit: (event) => apply(event),
      lost: (message) => lost(message),
      prepare: (...given) => prepare(...given),
      unread: () => threads.unread()
    },
    approximateFrom
  )
  // The folder exists only once the writer has created it.
  const reads = await LmdbReads.open(path)
  const engine = new LocalEngine("embedded", new EarlyReads(reads), memoryBudgetBytes, approximateFrom, threads)
  engine.attach(writer)
  engine.onClose(async () => {
    await threads.close()
    await reads.close()
  })
  lost = (message) => engine.failed(message)
  prepare = (...given) => engine.prepare(...given)
  for (const event of early) engine.apply(event)
  apply = (event) => engine.apply(event)
  return engine
}
