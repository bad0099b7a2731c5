/** A sample of every error that the room declares, or several if a fact changes the answer. */
import type { ErrorSample } from "../room.ts"
import { ManifestNotHot, ProfilesWouldBreak, QualityDropped, RevisionMismatch, SearchProfileExists } from "./errors.ts"

const changes = [
  { path: "facet_fields[0].field", class: "WARM" as const, reason: "The field `brand` is no facet." },
  { path: "searchable_fields[1]", class: "COLD" as const, reason: "There is no field `subtitle`." }
]
export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["SearchProfileExists", new SearchProfileExists({ message: "`products` has a profile `listing` already." })],
  [
    "RevisionMismatch",
    new RevisionMismatch({ message: "The profile `listing` has the revision 4.", current_revision: 4 })
  ],
  ["ManifestNotHot", new ManifestNotHot({ message: "The profile does not fit the collection's schema.", changes })],
  [
    "QualityDropped",
    new QualityDropped({
      message: "The draft finds what was judged less well than what is active.",
      quality: { before: 0.91, after: 0.84, worst: [{ q: "mug", before: 1, after: 0.3 }] }
    })
  ],
  [
    "ProfilesWouldBreak",
    new ProfilesWouldBreak({
      message: "The change would break active releases of `listing`; send `force=true` to make it all the same.",
      profiles: [{ name: "listing", changes }]
    })
  ]
]
