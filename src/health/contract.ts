/** The probe of spec part 4: no key, no rate. */
import { Schema } from "effect"
import { operation } from "../wire/operation.ts"

export const Health = Schema.Struct({ ok: Schema.Boolean, status: Schema.Literals(["ok", "degraded"]), version: Schema.String }).annotate({ identifier: "Health" })

export const getHealth = operation({
  id: "getHealth", group: "health", summary: "Health probe", method: "GET", path: "/api/v1/health", plane: "gateway", scope: "public", success: Health, isRateFree: true, errors: [503]
})
/** The alias of contract part 0. */
export const getHealthAlias = operation({
  id: "getHealthAlias", group: "health", summary: "Health probe (alias)", method: "GET", path: "/health", plane: "gateway", scope: "public", success: Health, isRateFree: true, errors: [503]
})
