/** Handlers of search and multi-search: they pass a request's values in, and turn the result into the reply. */
import { Effect } from "effect"
import { originOf } from "../http/origin.ts"
import { implement, type Input } from "../api/implement.ts"
import { textOf } from "../http/body.ts"
import { Reply } from "../http/reply.ts"
import { Installation } from "../installation.ts"
import * as contract from "./contract.ts"
import type { SearchAnswer, SearchRequest } from "./request.ts"
import { Search } from "./search.ts"
import { type ConversedAnswer, Conversations } from "./conversations.ts"
import { SpokenQueries } from "./spoken-queries.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { traitsOf } from "../identity/visitor.ts"

/** `countryHeader`: the header in which a proxy in front of this program names the visitor's country. */
export const searchRequestOf = (
  { address, caller, headers, held, search: shared, searchText }: Input<unknown, unknown>,
  countryHeader: string | undefined
): SearchRequest => ({
  caller,
  traits: traitsOf(headers, countryHeader),
  address,
  origin: () => originOf(headers),
  shared,
  queryText: searchText,
  reserve: (bytes) => held().reserveForAnswer(bytes)
})
export const replyOf = ({ text }: SearchAnswer): Reply => new Reply(200, text)
const conversedReplyOf = (answer: ConversedAnswer): Reply =>
  "events" in answer
    ? new Reply(200, answer.events, "text/event-stream", { "cache-control": "no-store", "x-accel-buffering": "no" })
    : replyOf(answer)

export const routes = Effect.gen(function* () {
  const search = yield* Search
  const spoken = yield* SpokenQueries
  const conversations = yield* Conversations
  const { countryHeader } = yield* Installation
  return [
    implement(contract.searchCollection, (input) =>
      Effect.map(
        withoutLimit(
          conversations.one(searchRequestOf(input, countryHeader), input.params.collectionName, (request, collection) =>
            spoken.one(request, collection, search.searchCollection)
          )
        ),
        conversedReplyOf
      )
    ),
    implement(contract.multiSearch, (input) =>
      Effect.flatMap(input.bytes, (body) =>
        Effect.map(
          withoutLimit(
            conversations.many(searchRequestOf(input, countryHeader), textOf(body), (request, asked) =>
              spoken.many(request, asked, search.multiSearch)
            )
          ),
          conversedReplyOf
        )
      )
    )
  ]
})
