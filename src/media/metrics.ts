/** What came in. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { Media } from "./media.ts"

export const metrics = Effect.map(Media, ({ counts }): ReadonlyArray<Measure> => [
  {
    name: "dowser_media_uploads_total",
    type: "counter",
    help: "Contents that were stored.",
    read: Effect.sync(() => single(counts.uploads))
  },
  {
    name: "dowser_media_uploaded_bytes_total",
    type: "counter",
    help: "Bytes of contents that were stored.",
    read: Effect.sync(() => single(counts.bytes))
  }
])
