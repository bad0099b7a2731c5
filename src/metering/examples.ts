/**
 * Descriptions of the operations of plans and wallets, each with an example request that succeeds
 * (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

export const described = {
  getEntitlement: {
    description:
      "Shows what the plan covers, how much of each bounded feature is used, the searches left this month, and the wallet's credits. Figures are at most 5 seconds old and may be cached for minutes; they are no authorization check.",
    example: {}
  },
  setOrganizationPlan: {
    description:
      "Sets the plan of an organization, and with it the monthly quota and whether searches beyond it are paid from the wallet. All three are set: without `quota` it is the plan's, without `overage` there is none.",
    example: {
      params: { organizationId: sampleIds.otherOrganization },
      body: { plan: "standard", quota: 2_000_000, overage: true }
    }
  },
  topUpOrganization: {
    description:
      "Adds credits, with up to six decimals, to the wallet of an organization and returns the new balance. With a `reference`, such as an invoice number, repeating the top-up books it only once.",
    example: {
      params: { organizationId: sampleIds.otherOrganization },
      body: { credits: 250, reference: "invoice 2026-0117" }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
