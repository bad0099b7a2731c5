/** `sitemap`: the pages that a site's sitemap names, and no others. */
import { Effect } from "effect"
import { Crawler } from "../crawl/crawl.ts"
import { makeFetchSitemap, type SitemapProblem } from "../crawl/fetch-sitemap.ts"
import { KEPT_PER_PAGE, PAGES_BY_DEFAULT } from "../crawl/limits.ts"
import { bareHost, pageUrl } from "../crawl/page-url.ts"
import { linkFilter } from "../crawl/reading/page-documents.ts"
import type { SitemapEntry } from "../crawl/read-sitemap.ts"
import { SitemapConfig } from "./crawl-config.ts"
import type { IngestSource } from "./source.ts"
import { siteOf } from "./url.ts"

/** Addresses added to the frontier per statement. */
const CHUNK = 500

export const makeSitemapSource = Effect.gen(function* () {
  const crawler = yield* Crawler
  const fetchSitemap = yield* makeFetchSitemap
  return {
    name: "sitemap",
    config: SitemapConfig,
    load: "wait",
    isFull: () => false,
    read: ({ config, ...task }) => {
      const { delay_ms, exclude = [], include = [], max_pages, obey_robots, refresh } = config
      const root = pageUrl(config.url) ?? new URL(config.url)
      const maxPages = max_pages ?? PAGES_BY_DEFAULT
      const links = { include, exclude, hosts: [bareHost(root.host)] }
      const isWanted = linkFilter(links)
      return crawler.read({
        task,
        site: siteOf("sitemap", [root.href]),
        isRefresh: refresh === true,
        rules: { links, maxDepth: 0, maxPages, obeysRobots: obey_robots !== false, delay_ms },
        seed: Effect.fnUntraced(function* (add) {
          let others = 0,
            taken = 0
          const take = Effect.fnUntraced(function* (entries: ReadonlyArray<SitemapEntry>) {
            const wanted: Array<SitemapEntry> = []
            for (const { changed_at, url: text } of entries) {
              if (taken + wanted.length >= KEPT_PER_PAGE * maxPages) break
              const url = pageUrl(text)
              if (url === undefined || bareHost(url.host) !== bareHost(root.host)) others++
              else if (isWanted(url)) wanted.push({ url: url.href, changed_at })
            }
            taken += wanted.length
            for (let from = 0; from < wanted.length; from += CHUNK) yield* add(wanted.slice(from, from + CHUNK))
          })
          const problems = yield* fetchSitemap(root, {
            organizationId: task.organizationId,
            delay_ms,
            take,
            isEnough: () => taken >= KEPT_PER_PAGE * maxPages
          })
          const left: ReadonlyArray<SitemapProblem> =
            others === 0
              ? []
              : [{ id: root.href, error: `${others} addresses of the sitemap are of another host, or are none` }]
          return [...problems, ...left]
        })
      })
    },
    forget: crawler.forget
  } satisfies IngestSource<SitemapConfig>
})
