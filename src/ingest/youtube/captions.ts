/**
 * Turns captions in SubRip or WebVTT into documents: consecutive cues form a chunk that can be read and found, with
 * the second at which it begins. Linear in the text. Pure.
 */
import { plainText } from "../../texts/plain-text.ts"

export interface Caption {
  readonly video_id: string
  readonly title: string
  readonly format: "srt" | "vtt"
  readonly content: string
}
interface Cue {
  /** Seconds. */ readonly start: number
  readonly end: number
  readonly text: string
}
const CHUNK_LENGTH_MAX = 800,
  CHUNK_SECONDS_MAX = 60

const TIME = /^\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})\s*$/
const secondsOf = (text: string): number | undefined => {
  const found = TIME.exec(text)
  if (found === null) return undefined
  const [, hours = "0", minutes, seconds, fraction] = found
  return Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds) + Number(`0.${fraction}`)
}
/** `00:01.000 --> 00:04.000 align:start`, as both formats write it. */
const timesOf = (line: string): readonly [start: number, end: number] | undefined => {
  const at = line.indexOf("-->")
  if (at < 0 || line.length > 300) return undefined
  const start = secondsOf(line.slice(0, at))
  const end = secondsOf(
    line
      .slice(at + 3)
      .trim()
      .split(/\s/, 1)[0]!
  )
  return start === undefined || end === undefined || end < start ? undefined : [start, end]
}

const cuesOf = (content: string): ReadonlyArray<Cue> => {
  const cues: Array<Cue> = []
  let times: readonly [number, number] | undefined,
    lines: Array<string> = [],
    last = ""
  const end = () => {
    // Rolling captions repeat each line.
    const fresh = lines
      .map((line) => plainText(line.replaceAll(/<[\d:.]{4,20}>/g, "")))
      .filter((line) => line !== "" && line !== last)
    if (times !== undefined && fresh.length > 0) {
      last = fresh.at(-1)!
      cues.push({ start: times[0], end: times[1], text: fresh.join(" ") })
    }
    times = undefined
    lines = []
  }
  for (const line of content.replaceAll("\ufeff", "").split(/\r\n|\r|\n/)) {
    const own = timesOf(line)
    if (own !== undefined) {
      end()
      times = own
    } else if (line.trim() === "") end()
    // Lines before a time are a number, a name or a note.
    else if (times !== undefined) lines.push(line)
  }
  end()
  return cues
}

export const captionDocuments = ({
  content,
  title,
  video_id
}: Caption): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const chunks: Array<{ readonly start: number; end: number; text: string }> = []
  for (const { end, start, text } of cuesOf(content)) {
    const chunk = chunks.at(-1)
    const isFull =
      chunk === undefined ||
      chunk.text.length + 1 + text.length > CHUNK_LENGTH_MAX ||
      end - chunk.start > CHUNK_SECONDS_MAX
    if (isFull) chunks.push({ start, end, text })
    else {
      chunk.text += ` ${text}`
      chunk.end = end
    }
  }
  return chunks.map(({ end, start, text }, i) => ({
    id: `${video_id}-${i + 1}`,
    video_id,
    title,
    content: text,
    start: Math.floor(start),
    end: Math.ceil(end),
    url: `https://www.youtube.com/watch?v=${video_id}&t=${Math.floor(start)}s`
  }))
}
