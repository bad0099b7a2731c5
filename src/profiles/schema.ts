/** Profiles, releases and their reports, as the API returns them. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { facetsRefusal, filterRefusal, listRefusal, sortRefusal, sortsRefusal, textRefusal } from "./profile-input.ts"
import { PER_PAGE_MAX } from "./manifest.ts"
import { nameRefusal } from "../policies/policy-name.ts"

const text = (charactersMax: number, charactersMin = 0) =>
  Schema.String.check(refusing(textRefusal(charactersMax, charactersMin)))
const label = Schema.optionalKey(text(200))
const fieldName = text(1_000, 1)
const names = (itemsMax: number, itemsMin = 0) =>
  Schema.Array(fieldName).check(refusing(listRefusal(itemsMax, itemsMin)))
const ProfileName = Schema.String.check(refusing(nameRefusal))

const body = {
  label,
  is_default: Schema.optionalKey(Schema.Boolean),
  searchable_fields: names(100, 1),
  facet_fields: Schema.optionalKey(
    Schema.Array(Schema.Struct({ field: fieldName, label }).annotate({ identifier: "ProfileFacetBody" })).check(
      refusing(facetsRefusal)
    )
  ),
  filterable_fields: Schema.optionalKey(names(500)),
  sorts: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        id: text(64, 1),
        label,
        sort_by: Schema.String.check(refusing(sortRefusal))
      }).annotate({ identifier: "ProfileSortBody" })
    ).check(refusing(sortsRefusal))
  ),
  /** Empty or absent: the engine's order. */ default_sort_id: Schema.optionalKey(text(64)),
  fixed_filter_by: Schema.optionalKey(Schema.String.check(refusing(filterRefusal))),
  highlight_fields: Schema.optionalKey(names(100)),
  per_page_max: Schema.optionalKey(
    Schema.Int.check(
      refusing((n: number) => (n >= 1 && n <= PER_PAGE_MAX ? undefined : `A whole number from 1 to ${PER_PAGE_MAX}`))
    )
  ),
  search_policy: Schema.optionalKey(text(64)),
  meaning: Schema.optionalKey(
    Schema.Struct({
      weight: Schema.Number.check(refusing((n: number) => (n >= 0 && n <= 1 ? undefined : "A number from 0 to 1"))),
      /** Accepted from an earlier answer; figures are the service's own. */ chosen: Schema.optionalKey(Schema.Unknown)
    }).annotate({
      identifier: "ProfileMeaningBody",
      description: "Weight of meaning relative to words, from 0 to 1; without effect if the collection has no vectors."
    })
  )
}
/** An answer may be edited and sent back: fields that the service adds are accepted and ignored. */
const added = Object.fromEntries(
  ["active_release_id", "broken", "changes", "collection", "created_at", "revision", "updated_at"].map((name) => [
    name,
    Schema.optionalKey(Schema.Unknown)
  ])
) as Record<"active_release_id", Schema.optionalKey<typeof Schema.Unknown>>
export const CreateSearchProfile = Schema.Struct({ name: ProfileName, ...body }).annotate({
  identifier: "CreateSearchProfile"
})
export const SearchProfileBody = Schema.Struct({ name: Schema.optionalKey(Schema.String), ...body, ...added }).annotate(
  {
    identifier: "SearchProfileBody",
    description: "A complete profile: omitted fields return to their defaults. A `name` must be that of the path."
  }
)

const strings = Schema.Array(Schema.String)
const manifest = {
  label: Schema.String,
  searchable_fields: strings,
  facet_fields: Schema.Array(
    Schema.Struct({ field: Schema.String, label: Schema.String }).annotate({ identifier: "ProfileFacet" })
  ),
  filterable_fields: strings,
  sorts: Schema.Array(
    Schema.Struct({ id: Schema.String, label: Schema.String, sort_by: Schema.String }).annotate({
      identifier: "ProfileSort"
    })
  ),
  /** Empty: the engine's order. */ default_sort_id: Schema.String,
  fixed_filter_by: Schema.String,
  highlight_fields: strings,
  per_page_max: Schema.Int,
  search_policy: Schema.String,
  meaning: Schema.optionalKey(
    Schema.Struct({
      weight: Schema.Number,
      /** Judged queries by which it was chosen. */ chosen: Schema.optionalKey(
        Schema.Struct({
          suite_id: Schema.String,
          queries: Schema.Int,
          ndcg_at_10: Schema.Array(
            Schema.Struct({ weight: Schema.Number, ndcg_at_10: Schema.Number }).annotate({
              identifier: "ProfileMeaningFigure"
            })
          ),
          /** nDCG of each query with the weight chosen by the others. */ cross_validated: Schema.Number,
          chosen_at: Schema.Int
        }).annotate({ identifier: "ProfileMeaningChosen" })
      )
    }).annotate({ identifier: "ProfileMeaning" })
  )
}
export const ProfileManifestShown = Schema.Struct(manifest).annotate({ identifier: "ProfileManifest" })

/** Why a manifest does not compile under the current schema. */
export const ManifestChange = Schema.Struct({
  path: Schema.String,
  /** WARM: the field lacks an option that it needs; COLD: no suitable field exists. */
  class: Schema.Literals(["WARM", "COLD"]),
  reason: Schema.String
}).annotate({ identifier: "ManifestChange" })

export const SearchProfile = Schema.Struct({
  name: Schema.String,
  collection: Schema.String,
  ...manifest,
  is_default: Schema.Boolean,
  revision: Schema.Int,
  /** null before the first publication. */ active_release_id: Schema.NullOr(Schema.String),
  /** What applies to searches no longer fits the collection's schema; `changes` says why. */ broken: Schema.Boolean,
  changes: Schema.optionalKey(Schema.Array(ManifestChange)),
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "SearchProfile" })

export const ProfileRelease = Schema.Struct({
  id: Schema.String,
  version: Schema.Int,
  manifest: ProfileManifestShown,
  change_class: Schema.Literals(["HOT"]),
  created_at: Schema.Int,
  /** Id of the key or member that published it; `operator` for the operator. */ created_by: Schema.String,
  note: Schema.String
}).annotate({ identifier: "ProfileRelease" })

const revision = Schema.Int.check(refusing((n: number) => (n >= 1 ? undefined : "A whole number from 1 up")))
export const PublishProfile = Schema.Struct({
  expected_revision: revision,
  note: Schema.optionalKey(text(1_000)),
  quality: Schema.optionalKey(
    Schema.Struct({
      suite_id: text(100, 1),
      /** 0.02 if absent. */ max_drop: Schema.optionalKey(
        Schema.Number.check(refusing((n: number) => (n >= 0 && n <= 1 ? undefined : "A number from 0 to 1")))
      )
    }).annotate({ identifier: "PublishQuality" })
  )
}).annotate({ identifier: "PublishProfile" })
export const ActivateRelease = Schema.Struct({ release_id: text(100, 1), expected_revision: revision }).annotate({
  identifier: "ActivateRelease"
})

export const ProfileDiff = Schema.Struct({
  changes: Schema.Array(
    Schema.Struct({
      path: Schema.String,
      /** Null if there is nothing at the path. */ before: Schema.Unknown,
      after: Schema.Unknown,
      class: Schema.Literals(["HOT", "WARM", "COLD"])
    }).annotate({ identifier: "ManifestDifference" })
  )
}).annotate({ identifier: "ProfileDiff" })

export const Storefront = Schema.Struct({
  name: Schema.String,
  label: Schema.String,
  sorts: Schema.Array(
    Schema.Struct({ id: Schema.String, label: Schema.String }).annotate({ identifier: "StorefrontSort" })
  ),
  default_sort_id: Schema.String,
  facets: Schema.Array(
    Schema.Struct({ field: Schema.String, label: Schema.String }).annotate({ identifier: "StorefrontFacet" })
  ),
  per_page_max: Schema.Int
}).annotate({
  identifier: "Storefront",
  description: "The parts of a profile that a browser may see: no expressions and no list of fields."
})
