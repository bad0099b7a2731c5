/** Descriptions of the operations of policies, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  listSearchPolicies: {
    description: "Shows the search policies of the organization in the order of their names. It changes nothing.",
    example: {}
  },
  getSearchPolicy: {
    description: "Shows one search policy. An unknown name is a 404.",
    example: { params: { policyName: "forgiving" } }
  },
  upsertSearchPolicy: {
    description:
      "Stores search parameters under a name: they act below those of a profile that names the policy, or of a request with `search_policy`, from the next search on. Every parameter that may not stand there is named in a 400. A policy has at most 64 kB, and counts among the named resources of the plan.",
    example: { params: { policyName: "forgiving" }, body: { params: { num_typos: "2", typo_tokens_threshold: 20 } } }
  },
  deleteSearchPolicy: {
    description:
      "Deletes a search policy. One that a profile names, in its draft or in what is active, is not deleted: 409 with `data.profiles`.",
    example: { params: { policyName: "old_policy" } }
  }
} as const satisfies Readonly<Record<string, Described>>
