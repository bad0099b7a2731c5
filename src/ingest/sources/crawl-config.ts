/** The `config` of crawl jobs. */
import { Schema } from "effect"
import { refusing } from "../../http/checks.ts"
import { DEPTH_MAX, GLOB_LENGTH_MAX, GLOBS_MAX, PAGES_MAX, START_URLS_MAX } from "../crawl/limits.ts"
import { pageUrl } from "../crawl/page-url.ts"

const DELAY_MAX_MS = 60_000

const Address = Schema.String.check(
  refusing((text: string) =>
    pageUrl(text) === undefined
      ? "An address that begins with http:// or https://, without a name and password in it, of at most 2,048 characters"
      : undefined
  )
)
const Addresses = Schema.Array(Address).check(
  refusing((list: ReadonlyArray<string>) =>
    list.length === 0 || list.length > START_URLS_MAX ? `1 to ${START_URLS_MAX} addresses` : undefined
  )
)
const Glob = Schema.String.check(
  refusing((text: string) =>
    text === "" || text.length > GLOB_LENGTH_MAX ? `1 to ${GLOB_LENGTH_MAX} characters` : undefined
  )
)
const Globs = Schema.Array(Glob).check(
  refusing((list: ReadonlyArray<string>) => (list.length > GLOBS_MAX ? `At most ${GLOBS_MAX} globs` : undefined))
)
const whole = (from: number, to: number) =>
  Schema.Int.check(
    refusing((value: number) => (value < from || value > to ? `A whole number from ${from} to ${to}` : undefined))
  )
const common = {
  max_pages: Schema.optionalKey(whole(1, PAGES_MAX)),
  include: Schema.optionalKey(Globs),
  exclude: Schema.optionalKey(Globs),
  obey_robots: Schema.optionalKey(Schema.Boolean),
  delay_ms: Schema.optionalKey(whole(0, DELAY_MAX_MS)),
  /** Requests and writes every page, even if it is known. */ refresh: Schema.optionalKey(Schema.Boolean)
}
export const UrlConfig = Schema.Struct({
  urls: Schema.optionalKey(Addresses),
  start_urls: Schema.optionalKey(Addresses),
  max_depth: Schema.optionalKey(whole(0, DEPTH_MAX)),
  same_host: Schema.optionalKey(Schema.Boolean),
  ...common
})
export type UrlConfig = typeof UrlConfig.Type
export const SitemapConfig = Schema.Struct({ url: Address, ...common })
export type SitemapConfig = typeof SitemapConfig.Type
