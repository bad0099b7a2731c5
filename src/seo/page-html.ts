/**
 * A page as a whole HTML document, with what search engines read beside it. Whatever documents and rules say is text
 * here: escaped in elements and attributes, and in the JSON of linked data written so that no tag ends it. Pure.
 */
import type { Product } from "./page-facts.ts"
import { plainText } from "./placeholders.ts"
import { escaped } from "./sitemap.ts"

export interface PageLink {
  readonly label: string
  readonly url: string
}
export interface ShownPage {
  readonly url: string
  readonly canonical_url: string
  readonly isIndexed: boolean
  readonly value: string
  readonly facet: string
  readonly siteName: string
  readonly title: string
  readonly description: string
  readonly h1: string
  readonly text: string
  readonly count: number
  readonly products: ReadonlyArray<Product>
  readonly related: ReadonlyArray<PageLink>
  readonly prev?: PageLink
  readonly next?: PageLink
}

/** JSON inside of a script element: nothing in it can end the element or begin a comment. */
export const scriptJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** Where the site begins; a path alone says only that. */
const homeOf = (url: string): string => (URL.canParse(url) ? `${new URL(url).origin}/` : "/")
const crumbsOf = ({ siteName, url, value }: ShownPage): ReadonlyArray<PageLink> => [
  { label: siteName === "" ? "Home" : siteName, url: homeOf(url) },
  { label: plainText(value), url }
]

const linkedData = (page: ShownPage) => ({
  "@context": "https://schema.org",
  "@graph": [
    {
      "@type": "CollectionPage",
      "@id": page.url,
      url: page.url,
      name: page.h1,
      ...(page.description === "" ? {} : { description: page.description }),
      mainEntity: {
        "@type": "ItemList",
        numberOfItems: page.count,
        itemListElement: page.products.map(({ image, title, url }, i) => ({
          "@type": "ListItem",
          position: i + 1,
          name: title,
          ...(url === undefined ? {} : { url }),
          ...(image === undefined ? {} : { image })
        }))
      }
    },
    {
      "@type": "BreadcrumbList",
      itemListElement: crumbsOf(page).map(({ label, url }, i) => ({
        "@type": "ListItem",
        position: i + 1,
        name: label,
        item: url
      }))
    }
  ]
})

const anchor = ({ label, url }: PageLink, more = ""): string =>
  `<a href="${escaped(url)}"${more}><bdi>${escaped(label)}</bdi></a>`
const priceOf = ({ currency, price }: Product): string =>
  price === undefined ? "" : ` <span>${escaped([price.toFixed(2), currency ?? ""].join(" ").trim())}</span>`
const productLine = (product: Product): string =>
  `<li>${product.url === undefined ? `<bdi>${escaped(product.title)}</bdi>` : anchor({ label: product.title, url: product.url })}${priceOf(product)}</li>`

const listed = (label: string, lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "" : `<nav aria-label="${label}">\n<ul>\n${lines.join("\n")}\n</ul>\n</nav>\n`
/** `und`: in which language documents are written nobody knows. */
const whole = (head: ReadonlyArray<string>, body: string): string =>
  `<!DOCTYPE html>\n<html lang="und">\n<head>\n<meta charset="utf-8">\n${head.filter((line) => line !== "").join("\n")}\n</head>\n<body>\n${body}</body>\n</html>\n`

export const pageHtml = (page: ShownPage): string => {
  const { canonical_url, description, h1, isIndexed, next, prev, products, related, text, title } = page
  const head = [
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title>`,
    description === "" ? "" : `<meta name="description" content="${escaped(description)}">`,
    isIndexed ? "" : '<meta name="robots" content="noindex, follow">',
    // A thin page stands for itself, unseen: it is nobody's copy.
    `<link rel="canonical" href="${escaped(canonical_url)}">`,
    prev === undefined ? "" : `<link rel="prev" href="${escaped(prev.url)}">`,
    next === undefined ? "" : `<link rel="next" href="${escaped(next.url)}">`,
    `<script type="application/ld+json">${scriptJson(linkedData(page))}</script>`
  ]
  const around = [
    ...(prev === undefined ? [] : [`<li>${anchor(prev, ' rel="prev"')}</li>`]),
    ...(next === undefined ? [] : [`<li>${anchor(next, ' rel="next"')}</li>`])
  ]
  const [home, own] = crumbsOf(page)
  const body = [
    `<nav aria-label="Breadcrumb">\n<ol>\n<li>${anchor(home!)}</li>\n<li><bdi>${escaped(own!.label)}</bdi></li>\n</ol>\n</nav>\n`,
    `<main>\n<h1 dir="auto">${escaped(h1)}</h1>\n`,
    text === "" ? "" : `<p dir="auto">${escaped(text)}</p>\n`,
    products.length === 0 ? "" : `<ol>\n${products.map(productLine).join("\n")}\n</ol>\n`,
    "</main>\n",
    listed("Previous and next", around),
    listed(
      "Related",
      related.map((link) => `<li>${anchor(link)}</li>`)
    )
  ]
  return whole(head, body.join(""))
}

/** Where nothing is, or nothing any more: a visitor is led on, and a search engine is told the truth by the status. */
export const absentHtml = (title: string, links: ReadonlyArray<PageLink>): string =>
  whole(
    [`<title>${escaped(title)}</title>`, '<meta name="robots" content="noindex">'],
    `<main>\n<h1 dir="auto">${escaped(title)}</h1>\n</main>\n${listed(
      "Related",
      links.map((link) => `<li>${anchor(link)}</li>`)
    )}`
  )
