/** Handlers of search and multi-search. */
import { Effect } from "effect"
import { textOf } from "../http/body.ts"
import { implement } from "../api/route.ts"
import * as contract from "./contract.ts"
import { Search } from "./search.ts"

export const routes = Effect.gen(function* () {
  const search = yield* Search
  return [
    implement(contract.searchCollection, ({ address, caller, headers, held, params, search: shared, searchText }) =>
      search.searchCollection({ caller, headers, address, held, shared, queryText: searchText }, params.collectionName)
    ),
    implement(contract.multiSearch, ({ address, bytes, caller, headers, held, search: shared, searchText }) =>
      Effect.flatMap(bytes, (body) =>
        search.multiSearch({ caller, headers, address, held, shared, queryText: searchText }, textOf(body))
      )
    )
  ]
})
