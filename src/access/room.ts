/** Keys and tokens: who a caller is and what the caller may access. */
import { Effect, Layer } from "effect"
import { Access } from "./access.ts"
import { Installation } from "../installation.ts"
import { layerKeyExpiry } from "./keys/expiry.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { KeyAuthenticator } from "../identity/authenticators.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "access",
  routes,
  errorSamples,
  reaches: {
    listKeys: "filtered",
    getKey: "filtered",
    deleteKey: "filtered",
    createKey: "each",
    createBrowserKey: "each"
  },
  groups: { keys: "API keys and short-lived keys for browsers." },
  seeds,
  layer: Layer.provideMerge(
    Layer.mergeAll(
      layerKeyExpiry,
      Layer.effect(
        KeyAuthenticator,
        Effect.map(Access, ({ check }) => KeyAuthenticator.of({ check }))
      )
    ),
    Layer.unwrap(Effect.map(Installation, Access.layerWith))
  ),
  audited: {
    api_key: (sql, { id }) => sql`SELECT row_to_json(t)::text AS row FROM api_keys t WHERE id = ${id}`
  },
  roles: {
    listKeys: "member",
    getKey: "member",
    deleteKey: "admin"
  }
})
