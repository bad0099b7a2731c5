/** The room of transcription and voice search. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { upgradeRequired } from "../http/errors.ts"
import { QUIET } from "./quiet.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { layerSpokenQueries } from "./voice-queries.ts"
import { VoiceSearch } from "./voice-search.ts"

export const room = defineRoom({
  name: "voice",
  routes,
  metrics,
  layer: Layer.provideMerge(layerSpokenQueries, VoiceSearch.layer),
  errorSamples: [["UpgradeRequired", upgradeRequired()]],
  groups: { voice: "Speech, written down and searched by." },
  reaches: { transcribeVoice: "none", voiceSearch: "path", voiceStream: "path" },
  seeds: {
    transcribeVoice: [{ audio: QUIET, language: "en" }, "RIFF", "OggS", "fLaC"],
    voiceSearch: [{ audio: QUIET, per_page: 3 }, { audio: "UklGRgAAAABXQVZF", filter_by: "price:>1" }, "\u001aE"]
  }
})
