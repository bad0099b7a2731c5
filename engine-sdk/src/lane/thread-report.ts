/** Interprets messages of a thread as reports on a job. */
import type { Finished, FromLane } from "./messages.ts"
import { parted } from "./sealed.ts"

/** A thread's reply to a job. */
export type ThreadReport = { readonly id: number } & (
  | { readonly finished: Finished; readonly texts: string }
  | Extract<FromLane, { readonly kind: "failed" }>
)
/** undefined if it only reported that it came up. */
export const reportOf = (message: FromLane): ThreadReport | undefined => {
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
