/** Failures of the profiles room; their details are in `data`. */
import { Schema } from "effect"
import { ManifestChange } from "./schema.ts"

export class SearchProfileExists extends Schema.TaggedError<SearchProfileExists>()(
  "SearchProfileExists",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The draft was replaced since it was read. */
export class RevisionMismatch extends Schema.TaggedError<RevisionMismatch>()(
  "RevisionMismatch",
  { message: Schema.String, current_revision: Schema.Int },
  { httpApiStatus: 409 }
) {}
/** A manifest that would apply to searches does not compile under the current schema. */
export class ManifestNotHot extends Schema.TaggedError<ManifestNotHot>()(
  "ManifestNotHot",
  { message: Schema.String, changes: Schema.Array(ManifestChange) },
  { httpApiStatus: 409 }
) {}
export class QualityDropped extends Schema.TaggedError<QualityDropped>()(
  "QualityDropped",
  {
    message: Schema.String,
    quality: Schema.Struct({
      /** nDCG@10 of the active release; null if there is none. */ before: Schema.NullOr(Schema.Number),
      after: Schema.Number,
      worst: Schema.Array(
        Schema.Struct({ q: Schema.String, before: Schema.NullOr(Schema.Number), after: Schema.Number })
      )
    })
  },
  { httpApiStatus: 409 }
) {}
/** A change of a collection's schema under which active releases would no longer compile. */
export class ProfilesWouldBreak extends Schema.TaggedError<ProfilesWouldBreak>()(
  "ProfilesWouldBreak",
  {
    message: Schema.String,
    profiles: Schema.Array(Schema.Struct({ name: Schema.String, changes: Schema.Array(ManifestChange) }))
  },
  { httpApiStatus: 409 }
) {}
