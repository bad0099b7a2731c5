/** Failures of the profiles room; what each says stands in `data`. */
import { Schema } from "effect"
import { ManifestChange } from "./schema.ts"

export class SearchProfileExists extends Schema.TaggedError<SearchProfileExists>()(
  "SearchProfileExists",
  { message: Schema.String },
  { httpApiStatus: 409 }
) {}
/** The draft was replaced since it was looked at. */
export class RevisionMismatch extends Schema.TaggedError<RevisionMismatch>()(
  "RevisionMismatch",
  { message: Schema.String, current_revision: Schema.Int },
  { httpApiStatus: 409 }
) {}
/** What is to act on searches does not compile under the schema of now. */
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
      /** nDCG@10 of what is active; null where nothing is. */ before: Schema.NullOr(Schema.Number),
      after: Schema.Number,
      worst: Schema.Array(
        Schema.Struct({ q: Schema.String, before: Schema.NullOr(Schema.Number), after: Schema.Number })
      )
    })
  },
  { httpApiStatus: 409 }
) {}
/** A change of a collection's schema that active releases do not survive. */
export class ProfilesWouldBreak extends Schema.TaggedError<ProfilesWouldBreak>()(
  "ProfilesWouldBreak",
  {
    message: Schema.String,
    profiles: Schema.Array(Schema.Struct({ name: Schema.String, changes: Schema.Array(ManifestChange) }))
  },
  { httpApiStatus: 409 }
) {}
