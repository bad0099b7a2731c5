/** The embedded transcriber's work, as measures. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { CurrentTranscriberFigures, type TranscriberFigures } from "../ports/transcriber/local/local-transcriber.ts"

export const metrics = Effect.map(CurrentTranscriberFigures, (figures): ReadonlyArray<Measure> => {
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
      help: "Pieces of speech that wait for the transcriber.",
      read: read(({ waiting }) => waiting)
    },
    {
      name: "dowser_transcriber_losses_total",
      type: "counter",
      help: "Times that the thread of the transcriber died or did not begin.",
      read: read(({ losses }) => losses)
    },
    {
      name: "dowser_transcriber_loaded",
      type: "gauge",
      help: "1 where the transcriber is in memory.",
      read: read(({ isLoaded }) => (isLoaded ? 1 : 0))
    }
  ]
})
