/** Directives of a page to crawlers, in `X-Robots-Tag` and `<meta name="robots">`. Pure. */
import { PRODUCT_TOKEN } from "./robots.ts"

interface Directives {
  readonly isIndexed: boolean
  readonly isFollowed: boolean
}
/** Directives with a value after a colon, as opposed to names of crawlers. */
const VALUED = /^(unavailable_after|max-snippet|max-image-preview|max-video-preview)$/

/** The directives in a header that apply to us: `noindex`, or `dowserbot: noindex`. Skips those for other crawlers. */
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
