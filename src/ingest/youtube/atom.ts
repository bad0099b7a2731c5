/** The Atom feed of a channel or a playlist, with some fifteen of its newest videos. Pure. */
import { SaxesParser } from "saxes"
import { lines, oneLine } from "../crawl/reading/clean-text.ts"

interface Video {
  readonly id: string
  readonly document: Readonly<Record<string, unknown>>
}
const ENTRIES_MAX = 500,
  TEXT_LENGTH_MAX = 20_000

const secondsOf = (text: string | undefined): number | undefined => {
  const at = Date.parse(text ?? "")
  return Number.isNaN(at) ? undefined : Math.floor(at / 1_000)
}
interface VideoFacts {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly image: string | undefined
  readonly channel: string | undefined
  readonly published: string | undefined
}
export const videoOf = ({ channel, description, id, image, published, title }: VideoFacts): Video => ({
  id,
  document: Object.fromEntries(
    Object.entries({
      id,
      url: `https://www.youtube.com/watch?v=${id}`,
      title: oneLine(title, 500),
      description: lines(description),
      image,
      channel: channel === undefined ? undefined : oneLine(channel, 200),
      published_at: secondsOf(published)
    }).filter(([, value]) => value !== undefined && value !== "")
  )
})

/** Returns an error message if the text is not a feed. */
export const readAtom = (text: string): ReadonlyArray<Video> | string => {
  const parser = new SaxesParser()
  const videos: Array<Video> = []
  const path: Array<string> = []
  let broken: string | undefined,
    own = "",
    image: string | undefined,
    entry = new Map<string, string>()
  parser.on("error", (error) => {
    broken ??= `it is not well-formed XML (${error.message.slice(0, 200)})`
  })
  parser.on("opentag", ({ attributes, name }) => {
    if (path.length === 0 && name !== "feed") broken ??= `it begins with <${name.slice(0, 40)}>`
    path.push(name)
    own = ""
    if (path.length === 2 && name === "entry") {
      entry = new Map()
      image = undefined
    } else if (name === "media:thumbnail") image ??= (attributes as Readonly<Record<string, string>>).url
  })
  const take = (piece: string) => {
    if (own.length < TEXT_LENGTH_MAX) own += piece
  }
  parser.on("text", take)
  parser.on("cdata", take)
  parser.on("closetag", () => {
    const name = path.pop()!
    if (path.length >= 2 && path[1] === "entry" && !entry.has(name)) entry.set(name, own)
    if (path.length === 1 && name === "entry" && videos.length < ENTRIES_MAX) {
      const id = entry.get("yt:videoId")?.trim() ?? ""
      if (/^[\w-]{1,64}$/.test(id))
        videos.push(
          videoOf({
            id,
            title: entry.get("title") ?? "",
            description: entry.get("media:description") ?? "",
            image,
            channel: entry.get("name"),
            published: entry.get("published")
          })
        )
    }
    own = ""
  })
  parser.write(text).close()
  return broken ?? videos
}
