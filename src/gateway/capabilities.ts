/** The capabilities of this gateway, with their models, and the limits of a request. */
import { Effect } from "effect"
import { ownModels } from "../ai-providers/own-models.ts"
import { version } from "../config.ts"
import { BODY_BYTES_MAX_DEFAULT } from "../http/operation.ts"
import { CurrentEmbedder } from "../ports/embedder/embedder.ts"
import { Engine } from "../ports/engine/engine.ts"
import { Transcriber } from "../ports/transcriber/transcriber.ts"
import { LIMIT_MAX } from "../suggestions/schema.ts"
import { gatewayOperations } from "./contract.ts"
import { DOCUMENTS_MAX, EXPIRES_IN_MAX_S, SEARCHES_MAX } from "./limits.ts"
import { GatewaySettings } from "./settings.ts"

export const makeCapabilities = Effect.gen(function* () {
  const { searchTimeMax_ms } = yield* GatewaySettings
  const engine = yield* Engine
  const embedder = yield* CurrentEmbedder
  const transcriber = yield* Transcriber
  return () => ({
    ...ownModels(embedder, transcriber.inUse()),
    version,
    operations: gatewayOperations.map(({ method, path }) => `${method} ${path.replace(":collectionName", "{index}")}`),
    engine: engine.capabilities().grades,
    limits: {
      search_time_ms: searchTimeMax_ms,
      searches_per_request: SEARCHES_MAX,
      documents_per_request: DOCUMENTS_MAX,
      body_bytes: BODY_BYTES_MAX_DEFAULT,
      suggestions: LIMIT_MAX,
      scoped_token_seconds: EXPIRES_IN_MAX_S
    }
  })
})
