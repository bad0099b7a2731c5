/** One request to search, as values: what the tenant API and the gateway pass in, and what they get. */
import type { EngineError } from "@dowser/engine-sdk"
import type { Caller } from "../identity/caller.ts"
import type { Traits } from "../identity/visitor.ts"

export interface SearchRequest {
  readonly caller: Caller
  /** Of the visitor's device, as far as the connection tells. */
  readonly traits: Traits
  readonly address: string
  /** The page that asks, where a browser says it. */
  readonly origin: () => string | undefined
  /** Query parameters: common to all entries of a multi-search. */
  readonly shared: Readonly<Record<string, string>>
  /** The query string as sent. */
  readonly queryText: string
  /** Field of the point that the search is about: hits say their `distance_m` from it. */
  readonly distanceField?: string
  /** Parameters that the service itself adds, whatever a profile says of the caller's. */
  readonly own?: Readonly<Record<string, string>>
  /** The session's unit for it was taken by whoever asks: what is read from its words costs no other. */
  readonly isPaid?: boolean
  /** Whether the answer may hold so many bytes of memory in all; asked before they are made. */
  readonly reserve: (bytes: number) => boolean
  /** What the visitor wrote, where `q` is made of it: answers and reports say it. */ readonly typed?: string
  /** What takes longer is answered with SearchTimedOut, and costs no unit. */
  readonly timeLimit_ms?: number
}

/** JSON text that was made once. */
export interface SearchAnswer {
  readonly text: string
  /** Searches that failed inside an answer; of a union the one that stands for all of it. */
  readonly failures: ReadonlyArray<EngineError>
}
