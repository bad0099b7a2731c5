/** Descriptions of the operations of policies, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  listSearchPolicies: {
    description: "Lists the search policies of the organization by name. It changes nothing.",
    example: {}
  },
  getSearchPolicy: {
    description: "Shows one search policy. An unknown name is a 404.",
    example: { params: { policyName: "forgiving" } }
  },
  upsertSearchPolicy: {
    description:
      "Stores search parameters under a name: they apply below those of a profile that names the policy, or of a request with `search_policy`, from the next search on. A 400 names every parameter that is not allowed. A policy has at most 64 kB, and counts as a named resource of the plan.",
    example: { params: { policyName: "forgiving" }, body: { params: { num_typos: "2", typo_tokens_threshold: 20 } } }
  },
  deleteSearchPolicy: {
    description:
      "Deletes a search policy. If a profile names it, in its draft or its active release, the answer is 409 with `data.profiles`.",
    example: { params: { policyName: "old_policy" } }
  }
} as const satisfies Readonly<Record<string, Described>>
