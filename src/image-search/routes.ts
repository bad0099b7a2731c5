/** Handler of image search: the body is a picture, or JSON that refers to one. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { refused } from "../http/checks.ts"
import { Reply } from "../http/reply.ts"
import { Installation } from "../installation.ts"
import { searchRequestOf } from "../search/routes.ts"
import * as contract from "./contract.ts"
import { ImageSearch } from "./image-search.ts"
import { readImageSearch } from "./read.ts"

export const routes = Effect.gen(function* () {
  const images = yield* ImageSearch
  const { countryHeader } = yield* Installation
  return [
    implement(
      contract.imageSearch,
      Effect.fnUntraced(function* (input) {
        const asked = readImageSearch(yield* input.bytes, input.search)
        yield* refused(asked.issues)
        const request = { ...searchRequestOf(input, countryHeader), shared: asked.values, queryText: "" }
        const text = yield* withoutLimit(images.answer(request, input.params.collectionName, asked.picture!))
        return new Reply(200, text)
      })
    )
  ]
})
