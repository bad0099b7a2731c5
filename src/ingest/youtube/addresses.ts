/** YouTube's addresses. Tenants cannot choose them; tests replace the layer. */
import { Context } from "effect"

export const YouTubeAddresses = Context.Reference<{
  /** The Atom feeds of channels and playlists. */ readonly feeds: string
  /** The Data API, version 3. */ readonly api: string
}>("dowser/ingest/YouTubeAddresses", {
  defaultValue: () => ({
    feeds: "https://www.youtube.com/feeds/videos.xml",
    api: "https://www.googleapis.com/youtube/v3"
  })
})
