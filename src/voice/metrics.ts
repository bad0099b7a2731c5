/** Metrics of the embedded transcriber and of live streams. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { ALL_STREAMS, VoiceSearch } from "./voice-search.ts"
import { CurrentTranscriberFigures, type TranscriberFigures } from "../ports/transcriber/local/local-transcriber.ts"

const streams = Effect.map(VoiceSearch, (voice): Measure => ({
  name: "dowser_voice_streams",
  type: "gauge",
  help: "Open live voice streams.",
  read: Effect.sync(() => single(voice.streams.count(ALL_STREAMS)))
}))
const transcriber = Effect.map(CurrentTranscriberFigures, (figures): ReadonlyArray<Measure> => {
  const read = (of: (now: TranscriberFigures) => number) =>
    Effect.sync(() => {
      const now = figures()
      return now === undefined ? [] : single(of(now))
    })
  return [
    {
      name: "dowser_transcriber_pieces_total",
      type: "counter",
      help: "Pieces of speech that the embedded transcriber was given.",
      read: read(({ pieces }) => pieces)
    },
    {
      name: "dowser_transcriber_seconds_total",
      type: "counter",
      help: "Time of the thread that runs the transcriber, in pieces of speech.",
      read: read(({ seconds }) => seconds)
    },
    {
      name: "dowser_transcriber_waiting",
      type: "gauge",
      help: "Pieces of speech waiting for the transcriber.",
      read: read(({ waiting }) => waiting)
    },
    {
      name: "dowser_transcriber_losses_total",
      type: "counter",
      help: "Times that the transcriber's thread ended unexpectedly or failed to start.",
      read: read(({ losses }) => losses)
    },
    {
      name: "dowser_transcriber_loaded",
      type: "gauge",
      help: "1 if the transcriber is in memory, otherwise 0.",
      read: read(({ isLoaded }) => (isLoaded ? 1 : 0))
    }
  ]
})
export const metrics = Effect.zipWith(streams, transcriber, (one, others) => [one, ...others])
