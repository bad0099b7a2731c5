/**
 * The published configuration of the demo shop: the profile that the page searches with, over a policy for comparing
 * words. Created if missing, also in shops seeded before profiles existed.
 */
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { makeJudge } from "../profiles/judge-profiles.ts"
import { manifestOf } from "../profiles/manifest.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"

export const DEMO_PROFILE = "shop"
const POLICY = "shop_words"

const policy = {
  ranking: "relevance",
  query_by_weights: "5,4,4,2,1",
  query_rewrite: "layout,translit,split",
  highlight_full_fields: "title,brand,category"
}
const manifest = manifestOf({
  label: "Demo shop",
  searchable_fields: ["title", "brand", "category", "attributes", "description"],
  facet_fields: [
    { field: "department", label: "Department" },
    { field: "brand", label: "Brand" },
    { field: "color", label: "Color" },
    { field: "price", label: "Price" },
    { field: "rating", label: "Rating" },
    { field: "in_stock", label: "In stock" }
  ],
  filterable_fields: ["department", "brand", "color", "price", "rating", "in_stock"],
  sorts: [
    { id: "price_up", label: "Price, low first", sort_by: "price:asc" },
    { id: "price_down", label: "Price, high first", sort_by: "price:desc" },
    { id: "rating", label: "Best rated", sort_by: "rating:desc" },
    { id: "newest", label: "Newest", sort_by: "released_at:desc" }
  ],
  highlight_fields: ["title", "brand", "category"],
  per_page_max: 24,
  search_policy: POLICY
})

export const makeStorefront = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const policies = yield* SearchPolicies
  const profiles = yield* SearchProfiles
  const { judge } = yield* makeJudge
  return Effect.fn("Demo.storefront")(function* (organizationId: string, name: string) {
    const collection = resolveCollection(contextOf(organizationId), name)
    if (collection === undefined || profiles.get(organizationId, collection, DEMO_PROFILE) !== undefined) return
    if (policies.get(organizationId, POLICY) === undefined)
      yield* Effect.orDie(policies.upsert(organizationId, POLICY, policy))
    const changesIn = (of: typeof collection, draft: typeof manifest) => judge(organizationId, of, draft).changes
    const draft = { manifest, is_default: false }
    const { revision } = yield* Effect.orDie(
      profiles.create(organizationId, collection, DEMO_PROFILE, draft, changesIn)
    )
    yield* Effect.orDie(
      profiles.publish(
        organizationId,
        collection,
        DEMO_PROFILE,
        { expected_revision: revision, note: "What the demo begins with" },
        changesIn
      )
    )
  })
})
