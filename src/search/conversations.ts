/** Searches that are answered in words, as routes use them: implemented by the room `conversations`. */
import { Context, type Effect } from "effect"
import type { Readable } from "node:stream"
import type { EngineRefusal, Throttled } from "../http/errors.ts"
import type { SpendingError } from "../metering/ai-spending.ts"
import type { OtherSession } from "../support/errors.ts"
import type { SearchAnswer, SearchRequest } from "./request.ts"

/** The answer, or, if requested, a stream of what is being written. */
export type ConversedAnswer = SearchAnswer | { readonly events: Readable }
type ConversationFailure = EngineRefusal | OtherSession | SpendingError | Throttled
/** `search` runs with the standalone meaning of the question as `q`; without a question the request is unchanged. */
export type Conversed = <E>(
  request: SearchRequest,
  /** A collection, or the body of a multi-search. */ asked: string,
  search: (request: SearchRequest, asked: string) => Effect.Effect<SearchAnswer, E>
) => Effect.Effect<ConversedAnswer, E | ConversationFailure>

export class Conversations extends Context.Service<
  Conversations,
  { readonly one: Conversed; readonly many: Conversed }
>()("dowser/search/Conversations") {}
