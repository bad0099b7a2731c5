/**
 * Handlers of collections, documents and what belongs to them: each unpacks the request, calls one operation of the
 * engine package, and responds.
 */
import { Effect } from "effect"
import { aliasRoutes } from "./routes/aliases.ts"
import { collectionRoutes } from "./routes/collections.ts"
import { documentRoutes } from "./routes/documents.ts"
import { makeHandling } from "./routes/handling.ts"
import { resourceRoutes } from "./routes/resources.ts"

export const routes = Effect.gen(function* () {
  const handling = yield* makeHandling
  return [
    ...(yield* collectionRoutes(handling)),
    ...documentRoutes(handling),
    ...aliasRoutes(handling),
    ...resourceRoutes(handling)
  ]
})
