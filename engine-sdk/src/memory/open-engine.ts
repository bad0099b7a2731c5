/** The durable engine: documents and schemas survive; searches run on the calling thread over memory. */
import { LmdbJournal, LmdbReads } from "../store/lmdb-journal.ts"
import { RemoteWriter } from "../store/remote-writer.ts"
import { Writer } from "../store/writer.ts"
import { LocalEngine } from "./local-engine.ts"

export interface OpenEngineOptions {
  /** A folder that belongs to this engine alone; created where missing. */ readonly path: string
  /** Builds the index in a worker thread, so that searches never wait for an import. */ readonly worker?: boolean
  /** Index memory of open collections; beyond it the least recently used are closed. Default: no limit. */ readonly memoryBudgetBytes?: number
}

/** Fails (rejects) when the folder cannot be opened or belongs to another version. Nothing is loaded before it is used. */
export const openEngine = async ({ path, worker = false, memoryBudgetBytes = Infinity }: OpenEngineOptions): Promise<LocalEngine> => {
  if (!worker) {
    const journal = await LmdbJournal.open(path)
    const engine = new LocalEngine("embedded", { text: (key, seq) => journal.get(key, seq), bytes: (key) => journal.documentBytes(key), refresh: () => {} }, memoryBudgetBytes)
    const writer = new Writer(journal, (event) => engine.apply(event))
    engine.attach(writer)
    writer.start()
    return engine
  }
  const early: Array<Parameters<LocalEngine["apply"]>[0]> = []
  let apply = (event: (typeof early)[number]): void => { early.push(event) }
  let lost = (_message: string): void => {}
  const writer = await RemoteWriter.start(path, (event) => apply(event), (message) => lost(message))
  // The folder exists only once the writer has made it.
  const reads = await LmdbReads.open(path)
  const engine = new LocalEngine("embedded", reads, memoryBudgetBytes)
  engine.attach(writer)
  engine.onClose(() => reads.close())
  lost = (message) => engine.failed(message)
  for (const event of early) engine.apply(event)
  apply = (event) => engine.apply(event)
  return engine
}
