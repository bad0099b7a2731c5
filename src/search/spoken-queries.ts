/** Queries that are spoken, as a search asks for them: whoever hears them (the room `voice`) is built behind it. */
import { Context, type Effect } from "effect"
import type { ModelBusy, ModelFailed, ModelNotInstalled } from "../embedding/errors.ts"
import type { InputInvalid } from "../http/errors.ts"
import type { AllowanceExhausted, CreditsExhausted } from "../metering/errors.ts"
import type { SearchAnswer, SearchRequest } from "./request.ts"
import type { SearchFailure } from "./search-errors.ts"

type Searches<A> = (request: SearchRequest, asked: A) => Effect.Effect<SearchAnswer, SearchFailure>
/** `search` runs with what was heard in place of `voice_query`; without one the request is its own. */
type Spoken<A> = (
  request: SearchRequest,
  asked: A,
  search: Searches<A>
) => Effect.Effect<
  SearchAnswer,
  AllowanceExhausted | CreditsExhausted | InputInvalid | ModelBusy | ModelFailed | ModelNotInstalled | SearchFailure
>

export class SpokenQueries extends Context.Service<
  SpokenQueries,
  {
    /** Of a collection. */ readonly one: Spoken<string>
    /** Of the body of a multi-search. */ readonly many: Spoken<string>
  }
>()("dowser/search/SpokenQueries") {}
