/** Plans, quota, units and wallets: what an organization may use, and what it pays. */
import { Layer } from "effect"
import { AiAllowance } from "./ai-allowance.ts"
import { AiSpending } from "./ai-spending.ts"
import { Entitlements } from "./entitlements.ts"
import { Quota } from "./quota.ts"
import { WindowedCaps } from "./windowed-caps.ts"
import { expireReservations, Wallet } from "./wallet.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "metering",
  routes,
  errorSamples,
  reaches: { getEntitlement: "none" },
  groups: { entitlement: "What the plan covers and what is left of it." },
  layer: AiSpending.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Quota.layer, AiAllowance.layer, WindowedCaps.layer)),
    Layer.provideMerge(Layer.mergeAll(Entitlements.layer, Wallet.layer))
  ),
  audited: {
    wallet: (sql, { organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM wallets t WHERE organization_id = ${organizationId}`
  },
  expiries: [(rowsMax) => expireReservations(rowsMax)]
})
