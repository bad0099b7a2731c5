/** Speech: written down, and searched by. */
import { defineRoom } from "../room.ts"
import { QUIET } from "./quiet.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { VoiceSearch } from "./voice-search.ts"

export const room = defineRoom({
  name: "voice",
  routes,
  metrics,
  layer: VoiceSearch.layer,
  groups: { voice: "Speech, written down and searched by." },
  reaches: { transcribeVoice: "organization", voiceSearch: "path" },
  seeds: {
    transcribeVoice: [{ audio: QUIET, language: "en" }, "RIFF", "OggS", "fLaC"],
    voiceSearch: [{ audio: QUIET, per_page: 3 }, { audio: "UklGRgAAAABXQVZF", filter_by: "price:>1" }, "\u001aE"]
  }
})
