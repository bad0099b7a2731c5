/** Notifications from Postgres: something changed, or another process has every change up to a version. */
import type { PgClient } from "@effect/sql-pg"
import { Cause, Effect, Queue } from "effect"
import { channel } from "../leases-repository.ts"

const LISTEN_AGAIN_MS = 200

interface Listener {
  /** Listening began, and earlier notifications may have been missed. */ readonly onListening: () => void
  readonly onChange: () => void
  /** Infinity for a process that left. */ readonly onConfirmed: (process: string, version: number) => void
}

const hear = ({ onChange, onConfirmed }: Listener, payload: string): void => {
  if (payload === "") return onChange()
  const [process, version] = payload.split(" ") as [string, string]
  onConfirmed(process, version === "gone" ? Infinity : Number(version))
}

/** Listens forever; a lost connection is logged once and re-established. */
export const listening = (own: PgClient.PgClient, listener: Listener): Effect.Effect<never> => {
  let isDeaf = false
  const deaf = (cause: Cause.Cause<unknown>) =>
    Effect.suspend(() => {
      const isNew = !isDeaf
      isDeaf = true
      return isNew
        ? Effect.logWarning(
            "Configuration: Postgres sends no more notifications; listening again, meanwhile lease renewals ask",
            cause
          )
        : Effect.void
    })
  const heard = Effect.gen(function* () {
    const notifications = yield* own.listen(channel)
    isDeaf = false
    listener.onListening()
    for (;;) for (const { payload } of yield* Queue.takeAll(notifications)) hear(listener, payload ?? "")
  })
  return Effect.forever(
    Effect.andThen(
      Effect.catchCause(Effect.scoped(heard), (cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.interrupt : deaf(cause)
      ),
      Effect.sleep(LISTEN_AGAIN_MS)
    )
  )
}
