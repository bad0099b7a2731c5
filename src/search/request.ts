/** One search request, as values: what the tenant API and the gateway pass in, and what they get back. */
import type { EngineError } from "@dowser/engine-sdk"
import type { Caller } from "../identity/caller.ts"
import type { Traits } from "../identity/visitor.ts"

export interface SearchRequest {
  readonly caller: Caller
  /** Of the visitor's device, as far as the connection reveals it. */
  readonly traits: Traits
  readonly address: string
  /** The page that sends the request, if a browser reports it. */
  readonly origin: () => string | undefined
  /** Query parameters: common to all entries of a multi-search. */
  readonly shared: Readonly<Record<string, string>>
  /** The query string as sent. */
  readonly queryText: string
  /** Field of the point that the search is around: hits get their `distance_m` from it. */
  readonly distanceField?: string
  /** Parameters that the service itself adds, regardless of what a profile allows the caller. */
  readonly own?: Readonly<Record<string, string>>
  /** The caller has already taken the session's unit for it: interpreting its words costs no other. */
  readonly isPaid?: boolean
  /** Whether the answer may use this many bytes of memory in total; called before they are allocated. */
  readonly reserve: (bytes: number) => boolean
  /** What the visitor typed, if `q` is derived from it: answers and reports contain it. */ readonly typed?: string
  /** A search that takes longer is answered with SearchTimedOut, and costs no unit. */
  readonly timeLimit_ms?: number
}

/** JSON text that is built once. */
export interface SearchAnswer {
  readonly text: string
  /** Searches that failed inside an answer; for a union, the failure that represents all. */
  readonly failures: ReadonlyArray<EngineError>
}
