/** Messages of a thread as what they say of a job. */
import type { Finished, FromLane } from "./messages.ts"
import { parted } from "./sealed.ts"

/** A thread's reply to a job. */
export type ThreadReport = { readonly id: number } & (
  | { readonly finished: Finished; readonly texts: string }
  | Extract<FromLane, { readonly kind: "failed" }>
)
/** undefined where it only came up. */
export const saidOf = (message: FromLane): ThreadReport | undefined => {
  if (typeof message === "string") {
    const { rest, text } = parted(message)
    const finished = JSON.parse(text) as Finished
    return { id: finished.id, finished, texts: rest }
  }
  switch (message.kind) {
    case "ready":
      return undefined
    case "done":
      return { id: message.finished.id, ...message }
    case "failed":
      return message
  }
}
