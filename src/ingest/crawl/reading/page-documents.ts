/**
 * Turns a page into documents: a product if the page declares one, else its text, in sections if it is long. Pure
 * except for state of the HTML parsers while they work; runs in a separate thread.
 */
import { directivesOf } from "../directives.ts"
import { compileGlobs } from "../glob.ts"
import { LINKS_PER_PAGE_MAX } from "../limits.ts"
import { bareHost, pageId, pageUrl, sectionId } from "../page-url.ts"
import { lines, oneLine } from "./clean-text.ts"
import { decodePage } from "./charset.ts"
import { type Block, mainContent } from "./main-content.ts"
import { SECTION_LENGTH_MAX, sectionsOf } from "./sections.ts"
import { readStructuredData, type StructuredData } from "./structured-data.ts"
import { type PageHtml, readHtml } from "./visible-html.ts"

type PageDocument = Readonly<Record<string, unknown>>
/** Which links a crawl follows. */
export interface LinkRules {
  /** Hosts without `www.`; all hosts if absent. */ readonly hosts?: ReadonlyArray<string> | undefined
  readonly include: ReadonlyArray<string>
  readonly exclude: ReadonlyArray<string>
}
export interface PageToRead {
  readonly url: string
  readonly contentType: string | undefined
  readonly robotsTag: string | undefined
  readonly obeysRobots: boolean
  /** Set if links are wanted. */ readonly rules: LinkRules | undefined
}
export interface PageRead {
  /** Empty if indexing is forbidden, or for a copy of another page. */ readonly documents: ReadonlyArray<PageDocument>
  readonly links: ReadonlyArray<string>
  /** Number of links beyond `LINKS_PER_PAGE_MAX`. */ readonly linksBeyond: number
  /** The canonical page that it names, if that is another page. */ readonly canonical?: string | undefined
  readonly isIndexed: boolean
}

export const linkFilter = ({ exclude, hosts, include }: LinkRules): ((url: URL) => boolean) => {
  const isIncluded = compileGlobs(include),
    isExcluded = compileGlobs(exclude)
  const allowed = hosts === undefined ? undefined : new Set(hosts)
  return (url) =>
    (allowed === undefined || allowed.has(bareHost(url.host))) &&
    (include.length === 0 || isIncluded(url)) &&
    !isExcluded(url)
}
/** Addresses that are not pages, by their extension: pictures, films, archives, programs. */
const FILE =
  /\.(?:jpe?g|png|gif|webp|avif|svg|ico|bmp|tiff?|css|js|mjs|json|xml|rss|atom|zip|gz|tgz|rar|7z|exe|dmg|apk|mp[34]|m4[av]|avi|mov|mkv|webm|ogg|wav|woff2?|ttf|eot|docx?|xlsx?|pptx?|pdf)$/i

const linksOf = (page: PageHtml, url: string, rules: LinkRules) => {
  const goes = linkFilter(rules)
  const base = page.base === undefined ? url : (URL.parse(page.base, url)?.href ?? url)
  const links = new Set<string>()
  let linksBeyond = 0
  for (const href of page.links) {
    const to = pageUrl(href, base)
    if (to === undefined || to.href === url || FILE.test(to.pathname) || links.has(to.href) || !goes(to)) continue
    if (links.size < LINKS_PER_PAGE_MAX) links.add(to.href)
    else linksBeyond++
  }
  return { links: [...links], linksBeyond }
}
const secondsOf = (...texts: ReadonlyArray<string | undefined>): number | undefined => {
  for (const text of texts) {
    const at = text === undefined ? Number.NaN : Date.parse(text)
    if (!Number.isNaN(at) && at > 0) return Math.floor(at / 1_000)
  }
  return undefined
}
const present = (fields: Readonly<Record<string, unknown>>): PageDocument =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""))

const factsOf = (page: PageHtml, { article }: StructuredData, url: string) => {
  const meta = (name: string) => page.metas.get(name)
  const image = article.image ?? meta("og:image") ?? meta("twitter:image")
  const imageUrl = image === undefined ? null : URL.parse(image, url)
  return {
    title: article.title ?? oneLine(meta("og:title") ?? (page.title || (page.headings[0] ?? "")), 500),
    description: article.description ?? oneLine(meta("og:description") ?? meta("description") ?? "", 1_000),
    image: imageUrl !== null && /^https?:$/.test(imageUrl.protocol) ? imageUrl.href : undefined,
    lang: /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i
      .exec((page.lang ?? meta("og:locale")?.replace("_", "-") ?? "").trim())?.[0]
      .toLowerCase(),
    published_at: secondsOf(article.published, meta("article:published_time"), meta("date"), meta("dc.date"))
  }
}
/** The article's own description is one block; each question is under its own heading. */
const blocksOf = (page: PageHtml, data: StructuredData): ReadonlyArray<Block> => {
  const main = mainContent(page.html)
  const length = main.reduce((sum, { text }) => sum + text.length, 0)
  const body = data.article.body
  const text = body !== undefined && body.length > length ? [{ level: 0, text: lines(body) }] : main
  const known = text.map((block) => block.text).join("\n")
  return [
    ...text,
    ...data.questions
      .filter(({ answer }) => !known.includes(answer))
      .flatMap(({ answer, question }) => [
        { level: 2, text: question },
        { level: 0, text: answer }
      ])
  ]
}
const textDocuments = (page: PageHtml, data: StructuredData, url: string): ReadonlyArray<PageDocument> => {
  const facts = factsOf(page, data, url)
  const blocks = blocksOf(page, data)
  const content = blocks.map(({ text }) => text).join("\n")
  const id = pageId(url)
  if (content.length <= SECTION_LENGTH_MAX) return [present({ id, url, ...facts, content, headings: page.headings })]
  return sectionsOf(blocks).map(({ headings, text }, section) =>
    present({
      id: sectionId(id, section),
      url,
      ...facts,
      content: text,
      headings,
      section: section + 1,
      parent_url: url
    })
  )
}

export const readPage = (bytes: Uint8Array, asked: PageToRead): PageRead => {
  const { contentType, obeysRobots, robotsTag, rules, url } = asked
  const page = readHtml(decodePage(bytes, contentType))
  const directives = directivesOf(robotsTag, page.robots)
  const isFollowed = !obeysRobots || directives.isFollowed
  const isIndexed = !obeysRobots || directives.isIndexed
  const { links, linksBeyond } =
    isFollowed && rules !== undefined ? linksOf(page, url, rules) : { links: [], linksBeyond: 0 }
  const canonical = page.canonical === undefined ? undefined : pageUrl(page.canonical, url)?.href
  if (!isIndexed) return { documents: [], links, linksBeyond, isIndexed }
  if (canonical !== undefined && canonical !== url) return { documents: [], links, linksBeyond, canonical, isIndexed }
  const data = readStructuredData(page.jsonLd, url)
  const documents =
    data.product === undefined
      ? textDocuments(page, data, url)
      : [{ id: pageId(url), url, ...data.product } satisfies PageDocument]
  return { documents, links, linksBeyond, isIndexed }
}
