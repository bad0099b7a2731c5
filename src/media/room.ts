/** Media that organizations keep. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { Images } from "./images.ts"
import { Media } from "./media.ts"
import { metrics } from "./metrics.ts"
import { media } from "./migration.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"

export const room = defineRoom({
  name: "media",
  routes,
  metrics,
  errorSamples,
  seeds,
  layer: Layer.provideMerge(Images.layer, Media.layer),
  groups: { media: "Files, pictures, audio and video that an organization keeps." },
  // Media belong to no collection.
  reaches: {
    listMedia: "organization",
    createMedia: "organization",
    getMedia: "organization",
    deleteMedia: "organization",
    putMediaContent: "organization",
    getMediaContent: "organization",
    uploadImage: "none"
  },
  features: {
    media_assets: { free: 1_000, standard: 1_000_000, unlimited: true },
    media_bytes: { free: 500_000_000, standard: 100_000_000_000, unlimited: true }
  },
  roles: {
    listMedia: "member",
    getMedia: "member",
    getMediaContent: "member",
    createMedia: "admin",
    putMediaContent: "admin",
    deleteMedia: "admin"
  },
  audited: {
    media_asset: (sql, { id, organizationId }) =>
      sql`SELECT row_to_json(t)::text AS row FROM (SELECT id, kind, filename, content_type, size, sha256, width, height, created_at, expires_at
        FROM media_assets WHERE organization_id = ${organizationId} AND id = ${id}) t`
  },
  migrations: { "2026112611_media": media }
})
