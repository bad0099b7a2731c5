/** Uploads, as metrics. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { ImageProcess } from "../ports/image-process/image-process.ts"
import { Media } from "./media.ts"

export const metrics = Effect.map(
  Effect.all([Media, ImageProcess]),
  ([{ counts }, pictures]): ReadonlyArray<Measure> => [
    {
      name: "dowser_images_total",
      type: "counter",
      help: "Images that were decoded or refused.",
      read: Effect.sync(() => single(pictures.counts.images))
    },
    {
      name: "dowser_images_refused_total",
      type: "counter",
      help: "Images that could not be decoded within their bounds.",
      read: Effect.sync(() => single(pictures.counts.refused))
    },
    {
      name: "dowser_image_processes_lost_total",
      type: "counter",
      help: "Processes that decode images and were ended by their bounds, or by themselves.",
      read: Effect.sync(() => single(pictures.counts.processesLost))
    },
    {
      name: "dowser_images_waiting",
      type: "gauge",
      help: "Images that wait for a process.",
      read: Effect.sync(() => single(pictures.counts.waiting))
    },
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
  ]
)
