/** Handlers of search policies. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { refused } from "../http/checks.ts"
import { inputInvalid } from "../http/errors.ts"
import { pageOf } from "../http/page.ts"
import * as contract from "./contract.ts"
import { nameRefusal } from "./policy-name.ts"
import type { StoredPolicy } from "./policies-repository.ts"
import { paramRefusal } from "./policy-input.ts"
import type { SearchPolicy } from "./schema.ts"
import { noPolicy, SearchPolicies } from "./search-policies.ts"

const shown = ({ created_at, name, params, updated_at }: StoredPolicy): typeof SearchPolicy.Type => ({
  name,
  params,
  created_at,
  updated_at
})
/** Fails with a 400 that names each parameter that is not allowed. */
const checked = (params: Readonly<Record<string, unknown>>) => {
  const issues = Object.entries(params).flatMap(([name, value]) => {
    const message = paramRefusal(name, value)
    return message === undefined ? [] : [{ path: `params.${name.slice(0, 80)}`, message }]
  })
  return Effect.as(refused(issues.slice(0, 100)), params as StoredPolicy["params"])
}

export const routes = Effect.gen(function* () {
  const policies = yield* SearchPolicies
  return [
    implement(contract.listSearchPolicies, ({ caller, query }) =>
      Effect.map(query, ({ cursor = "", limit }) =>
        pageOf(
          policies
            .list(caller.organizationId)
            .filter(({ name }) => name > cursor)
            .slice(0, limit + 1)
            .map(shown),
          limit,
          ({ name }) => name
        )
      )
    ),
    implement(contract.getSearchPolicy, ({ caller, params }) =>
      Effect.suspend(() => {
        const policy = policies.get(caller.organizationId, params.policyName)
        return policy === undefined ? Effect.fail(noPolicy()) : Effect.succeed(shown(policy))
      })
    ),
    implement(
      contract.upsertSearchPolicy,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const body = yield* payload
        const refusal = nameRefusal(params.policyName)
        if (refusal !== undefined) return yield* inputInvalid("policyName", refusal)
        if (body.name !== undefined && body.name !== params.policyName)
          return yield* inputInvalid("name", "The policy's name stands in the path")
        return shown(yield* policies.upsert(caller.organizationId, params.policyName, yield* checked(body.params)))
      })
    ),
    implement(contract.deleteSearchPolicy, ({ caller, params }) =>
      Effect.as(policies.remove(caller.organizationId, params.policyName), { name: params.policyName })
    )
  ]
})
