/** Visits one address of a crawl, from its turn at the host to the resulting changes. */
import { Context, Effect, Layer } from "effect"
import type { FrontierPage, KnownPage } from "./crawl-repository.ts"
import { FetchPage, type Fetched } from "./fetch-page.ts"
import { Hosts } from "./hosts.ts"
import {
  type Visit,
  visitFailed,
  visitGone,
  visitLeft,
  visitRead,
  visitSkipped,
  visitUnchanged
} from "./page-outcome.ts"
import { bareHost, pageUrl } from "./page-url.ts"
import { FAILURES_MAX, RETRY_AFTER_MAX_S } from "./politeness.ts"
import { linkFilter, type LinkRules } from "./reading/page-documents.ts"
import { PageReader } from "./reading/page-reader.ts"

/** Consecutive redirects and canonical links. */
const HOPS_MAX = 5
/** How often a page is retried if its host asks to wait. */
const LATER_MAX = 3

/** How a job crawls. */
export interface CrawlRules {
  readonly links: LinkRules
  readonly maxDepth: number
  readonly maxPages: number
  readonly obeysRobots: boolean
  readonly delay_ms: number | undefined
}
/** What a job has observed about a host, kept while the job runs. */
export interface HostRecord {
  failures: number
  /** Why the host is no longer requested. */ stopped: string | undefined
  /** Whether the job has reported it. */ isReported: boolean
}
interface Visiting {
  readonly organizationId: string
  readonly rules: CrawlRules
  readonly made: string
  readonly host: HostRecord
  readonly page: FrontierPage
  readonly known: KnownPage | undefined
}

/** Records what a host's response says about the host. */
const note = (host: HostRecord, fetched: Fetched): void => {
  if (fetched.kind === "later") {
    host.failures++
    if (fetched.retry_s > RETRY_AFTER_MAX_S)
      host.stopped = `${fetched.message} and asks to come again in ${fetched.retry_s} s, and more than ${RETRY_AFTER_MAX_S} s are not waited`
  } else if (fetched.kind === "error" && fetched.isFailure) host.failures++
  else host.failures = 0
  if (host.failures >= FAILURES_MAX)
    host.stopped ??= `${FAILURES_MAX} failures in a row; the last one: ${"message" in fetched ? fetched.message : ""}`
}

const moved = ({ known, page, rules }: Visiting, to: URL): Visit => {
  const target = pageUrl(to.href)
  // A page that redirects to another spelling of its own address is visited there.
  if (target === undefined || page.hops >= HOPS_MAX || target.href === page.url)
    return visitFailed(page, `redirects without end, or to no page: ${to.href.slice(0, 300)}`)
  if (!linkFilter(rules.links)(target))
    return {
      ...visitLeft(page, known),
      ...visitFailed(page, `redirects to ${target.href.slice(0, 300)}, which this crawl does not go to`)
    }
  return visitLeft(page, known, [{ url: target.href, depth: page.depth, hops: page.hops + 1 }])
}

export class VisitPage extends Context.Service<VisitPage, (visiting: Visiting) => Effect.Effect<Visit>>()(
  "dowser/ingest/VisitPage"
) {
  static readonly layer: Layer.Layer<VisitPage, never, FetchPage | Hosts | PageReader> = Layer.effect(
    VisitPage,
    Effect.gen(function* () {
      const fetchPage = yield* FetchPage
      const hosts = yield* Hosts
      const reader = yield* PageReader

      /** The page's documents, and its links unless the crawl goes no deeper. */
      const read = Effect.fnUntraced(function* (visiting: Visiting, fetched: Extract<Fetched, { kind: "page" }>) {
        const { known, made, organizationId, page, rules } = visiting
        const outcome = yield* reader.read(organizationId, fetched.bytes, {
          url: page.url,
          contentType: fetched.contentType,
          robotsTag: fetched.robotsTag,
          obeysRobots: rules.obeysRobots,
          rules: page.depth < rules.maxDepth ? rules.links : undefined
        })
        if (outcome.kind === "unread") return visitFailed(page, `cannot be read: ${outcome.message}`)
        const { canonical } = outcome.page
        const isElsewhere =
          canonical !== undefined &&
          (page.hops >= HOPS_MAX || bareHost(new URL(canonical).host) !== bareHost(new URL(page.url).host))
        // A start address is always read for its links, but stored only if the globs match.
        const documents = linkFilter(rules.links)(new URL(page.url)) ? outcome.page.documents : []
        return visitRead({
          page,
          known,
          made,
          read: { ...outcome.page, documents, canonical: isElsewhere ? undefined : canonical },
          etag: fetched.etag,
          lastModified: fetched.lastModified
        })
      })
      const visit = Effect.fnUntraced(function* (visiting: Visiting) {
        const { host, known, made, organizationId, page, rules } = visiting
        const url = new URL(page.url)
        const robots = rules.obeysRobots
          ? yield* hosts.robots(organizationId, url.origin, { asked_ms: rules.delay_ms })
          : undefined
        if (robots?.refusal !== undefined) host.stopped ??= robots.refusal
        if (host.stopped !== undefined) {
          const report = host.isReported
            ? undefined
            : { id: url.host, error: `the host is asked no more: ${host.stopped}` }
          host.isReported = true
          return visitSkipped(page, report)
        }
        if (robots !== undefined && !robots.isAllowed(page.url))
          // Disallowed links on a site's pages are not reported.
          return visitSkipped(
            page,
            page.depth > 0 ? undefined : { id: page.url, error: "robots.txt does not allow it" }
          )
        const isSame = known !== undefined && known.made === made && known.gone === 0
        for (let attempt = 1; ; attempt++) {
          const fetched = yield* fetchPage({
            organizationId,
            url,
            delay_ms: rules.delay_ms,
            robots_ms: robots?.delay_ms,
            known: isSame ? known : undefined
          })
          note(host, fetched)
          switch (fetched.kind) {
            case "page":
              return yield* read(visiting, fetched)
            case "unchanged":
              return visitUnchanged(page, known)
            case "gone":
              return visitGone(page, known)
            case "moved":
              return moved(visiting, fetched.to)
            case "error":
              return visitFailed(page, fetched.message)
            case "later":
              if (host.stopped !== undefined || attempt >= LATER_MAX) return visitFailed(page, fetched.message)
          }
        }
      })
      return (visiting) => Effect.scoped(visit(visiting))
    })
  )
}
