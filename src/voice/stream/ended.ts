/** Why a stream ends: the close code of the WebSocket, and the error that is sent before it. */
import { Data } from "effect"
import type { DeclaredError } from "../../http/declared.ts"
import { statusOf } from "../../http/render.ts"
import { CLOSES } from "./frames.ts"

export class StreamEnded extends Data.TaggedError("StreamEnded")<{
  readonly code: number
  /** At most 123 bytes. */ readonly reason: string
  readonly error?: DeclaredError
}> {}

const codeOf = (error: DeclaredError): number => {
  const status = statusOf(error)
  if (status === 402) return CLOSES.credits
  if (status === 429) return CLOSES.allowance
  if (status === 401 || status === 403) return CLOSES.key
  if (status === 503) return CLOSES.later
  return status >= 500 ? CLOSES.broken : CLOSES.badFrame
}
export const endedBy = (error: DeclaredError, code = codeOf(error)): StreamEnded =>
  new StreamEnded({ code, reason: error._tag, error })
export const tooMuch = (): StreamEnded =>
  new StreamEnded({ code: CLOSES.tooMuch, reason: "A stream is at most 25 MB and five minutes." })
