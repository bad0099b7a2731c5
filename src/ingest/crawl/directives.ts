/** What a page says to crawlers about itself, in `X-Robots-Tag` and `<meta name="robots">`. Pure. */
import { PRODUCT_TOKEN } from "./robots.ts"

interface Directives {
  readonly isIndexed: boolean
  readonly isFollowed: boolean
}
/** Directives that have a value behind a colon, and are no crawler's name. */
const VALUED = /^(unavailable_after|max-snippet|max-image-preview|max-video-preview)$/

/** Words of a header for us: `noindex`, or `dowserbot: noindex`; what is for another crawler is passed over. */
const wordsOf = (text: string): ReadonlyArray<string> => {
  let isOurs = true
  const words: Array<string> = []
  for (const part of text.toLowerCase().split(",")) {
    const [name = "", ...rest] = part.split(":").map((word) => word.trim())
    if (rest.length > 0 && !VALUED.test(name)) {
      isOurs = name === PRODUCT_TOKEN.toLowerCase()
      if (isOurs) words.push(...rest)
    } else if (isOurs) words.push(name)
  }
  return words
}

export const directivesOf = (header: string | undefined, metas: ReadonlyArray<string>): Directives => {
  const words = new Set([header ?? "", ...metas].flatMap(wordsOf))
  const isNone = words.has("none")
  return { isIndexed: !isNone && !words.has("noindex"), isFollowed: !isNone && !words.has("nofollow") }
}
