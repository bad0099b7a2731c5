/** `url`: pages of a site, reached from start addresses by links. `urls` and `start_urls` are synonymous fields. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Crawler } from "../crawl/crawl.ts"
import { DEPTH_BY_DEFAULT, PAGES_BY_DEFAULT } from "../crawl/limits.ts"
import { bareHost, pageUrl } from "../crawl/page-url.ts"
import { UrlConfig } from "./crawl-config.ts"
import type { IngestSource } from "./source.ts"

/** The same start addresses in any order are the same site. */
export const siteOf = (source: string, urls: ReadonlyArray<string>): string =>
  createHash("sha256")
    .update(JSON.stringify([source, [...urls].sort()]))
    .digest("base64url")
    .slice(0, 22)

const startsOf = ({ start_urls, urls }: UrlConfig): ReadonlyArray<URL> => [
  ...new Map(
    [...(urls ?? []), ...(start_urls ?? [])].flatMap((text) => {
      const url = pageUrl(text)
      return url === undefined ? [] : [[url.href, url] as const]
    })
  ).values()
]

export const makeUrlSource = Effect.map(Crawler, (crawler): IngestSource<UrlConfig> => ({
  name: "url",
  config: UrlConfig,
  load: "wait",
  isFull: () => false,
  refuses: ({ start_urls, urls }) =>
    (urls === undefined) === (start_urls === undefined) ? "Either `urls` or `start_urls`" : undefined,
  read: ({ config, ...task }) => {
    const starts = startsOf(config)
    const { delay_ms, exclude = [], include = [], max_depth, max_pages, obey_robots, refresh, same_host } = config
    return crawler.read({
      task,
      site: siteOf(
        "url",
        starts.map(({ href }) => href)
      ),
      isRefresh: refresh === true,
      rules: {
        links: {
          include,
          exclude,
          ...(same_host === false ? {} : { hosts: [...new Set(starts.map(({ host }) => bareHost(host)))] })
        },
        maxDepth: max_depth ?? DEPTH_BY_DEFAULT,
        maxPages: max_pages ?? PAGES_BY_DEFAULT,
        obeysRobots: obey_robots !== false,
        delay_ms
      },
      seed: (add) => Effect.as(add(starts.map(({ href }) => ({ url: href }))), [])
    })
  },
  forget: crawler.forget
}))
