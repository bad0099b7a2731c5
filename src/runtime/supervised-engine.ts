/**
 * The in-process engine, opened again when its writer is lost. Searches go on over the old reader until the new engine
 * is open; writes answer that the engine is unavailable meanwhile, and nothing acknowledged is lost, because the writer
 * only acknowledges what is on disk.
 */
import type { Awaitable, EngineError, Result, SearchEngine } from "@dowser/engine-sdk"
import { delegatingEngine } from "../ports/engine/delegating-engine.ts"

/** `stopWriting` resolves when its writer, whatever its state, stores and acknowledges nothing any more. */
type SupervisedEngine = SearchEngine & { readonly stopWriting?: () => Promise<void> }
interface SupervisionOptions {
  readonly open: () => Promise<SupervisedEngine>
  readonly onLost: (message: string) => void
  readonly checkEvery_ms?: number
}

const CHECK_EVERY_DEFAULT_MS = 500
const BACKOFF_MAX_MS = 10_000

/** Rejects when the first opening fails; later failures are reported and tried again with growing pauses. */
export const superviseEngine = async ({
  checkEvery_ms = CHECK_EVERY_DEFAULT_MS,
  onLost,
  open
}: SupervisionOptions): Promise<SearchEngine> => {
  let current = await open()
  let isClosed = false
  let reopening: Promise<void> | undefined
  /** Dictionaries live in the engine's memory only: a new one is told them again. */
  const dictionaries = new Map<string, (engine: SearchEngine) => Promise<void> | undefined>()

  const reopen = async (message: string): Promise<void> => {
    onLost(message)
    for (let pause_ms = 100; !isClosed; pause_ms = Math.min(BACKOFF_MAX_MS, 2 * pause_ms)) {
      const old = current
      try {
        // A writer that was given up may still be alive: nobody would find what it acknowledged after the new one had
        // read the folder. The old reader answers until the new one is ready, which learns everything before it is
        // used.
        await old.stopWriting?.()
        const next = await open()
        try {
          for (const tell of dictionaries.values()) await tell(next)
        } catch (error) {
          await next.close()
          throw error
        }
        current = next
        await old.close().catch((error: Error) => onLost(`The old engine did not close: ${error.message}`))
        return
      } catch (error) {
        onLost(`It could not be opened again: ${(error as Error).message}`)
        await new Promise((settle) => setTimeout(settle, pause_ms))
      }
    }
  }
  const check = () => {
    if (isClosed || reopening !== undefined) return
    const health = current.health() as Awaitable<Result<unknown, EngineError>>
    if (health instanceof Promise || health.ok) return
    reopening = reopen(health.error.message).finally(() => {
      reopening = undefined
    })
  }
  const timer = setInterval(check, checkEvery_ms)
  timer.unref()

  return {
    ...delegatingEngine(() => current),
    setDictionary: async (namespace, name, words) => {
      dictionaries.set(JSON.stringify([namespace, name]), (engine) => engine.setDictionary?.(namespace, name, words))
      await current.setDictionary?.(namespace, name, words)
    },
    damaged: () => current.damaged?.() ?? [],
    close: async () => {
      isClosed = true
      clearInterval(timer)
      await reopening
      await current.close()
    }
  }
}
