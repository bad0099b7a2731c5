/**
 * The in-process engine, reopened when its writer is lost. Searches continue on the old reader until the new engine is
 * open. Writes meanwhile answer that the engine is unavailable, and nothing acknowledged is lost, because the writer
 * only acknowledges what is on disk.
 */
import type { Awaitable, EngineError, Result, SearchEngine } from "@dowser/engine-sdk"
import { delegatingEngine } from "../ports/engine/delegating-engine.ts"

/** `stopWriting` resolves when the writer, whatever its state, no longer stores or acknowledges anything. */
type SupervisedEngine = SearchEngine & { readonly stopWriting?: () => Promise<void> }
interface SupervisionOptions {
  readonly open: () => Promise<SupervisedEngine>
  readonly onLost: (message: string) => void
  readonly checkEvery_ms?: number
}

const CHECK_EVERY_DEFAULT_MS = 500
const BACKOFF_MAX_MS = 10_000

/** Rejects if the first opening fails; later failures are reported and retried after growing pauses. */
export const superviseEngine = async ({
  checkEvery_ms = CHECK_EVERY_DEFAULT_MS,
  onLost,
  open
}: SupervisionOptions): Promise<SearchEngine> => {
  let current = await open()
  let isClosed = false
  let reopening: Promise<void> | undefined
  /** Dictionaries are only in the engine's memory, so they are set again in a new one. */
  const dictionaries = new Map<string, (engine: SearchEngine) => Promise<void> | undefined>()

  const reopen = async (message: string): Promise<void> => {
    onLost(message)
    for (let pause_ms = 100; !isClosed; pause_ms = Math.min(BACKOFF_MAX_MS, 2 * pause_ms)) {
      const old = current
      try {
        // A writer considered lost may still be running; what it acknowledges after the new one has read the folder
        // would be lost, so it is stopped first. The old reader answers until the new engine has its dictionaries.
        await old.stopWriting?.()
        const next = await open()
        try {
          for (const apply of dictionaries.values()) await apply(next)
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
