/** Spoken queries, as a search uses them: the room `voice`, which recognizes them, provides the implementation. */
import { Context, type Effect } from "effect"
import type { ModelBusy, ModelFailed, ModelNotInstalled } from "../embedding/errors.ts"
import type { InputInvalid } from "../http/errors.ts"
import type { AllowanceExhausted, CreditsExhausted } from "../metering/errors.ts"
import type { SearchAnswer, SearchRequest } from "./request.ts"
import type { SearchFailure } from "./search-errors.ts"

type Searches<A> = (request: SearchRequest, asked: A) => Effect.Effect<SearchAnswer, SearchFailure>
/** `search` runs with what was recognized instead of `voice_query`; without one the request is unchanged. */
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
    /** Searches a collection. */ readonly one: Spoken<string>
    /** Runs the body of a multi-search. */ readonly many: Spoken<string>
  }
>()("dowser/search/SpokenQueries") {}
