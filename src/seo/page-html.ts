/**
 * A page as a complete HTML document, with data for search engines. Everything from documents and rules is treated as
 * text: escaped in elements and attributes, and in linked-data JSON written so that no tag can end it. Pure.
 */
import { createHash } from "node:crypto"
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

/** A page that is served unchanged must be readable on any screen; an embedded one drops this. */
const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem 3rem }
a { color: #0a58ca; text-decoration: none }
a:hover { text-decoration: underline }
h1 { font-size: 2rem; line-height: 1.2; margin: .75rem 0 }
nav ol, nav ul, main ol { list-style: none; margin: 0; padding: 0 }
nav ol, nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem }
nav ol li + li::before { content: "/"; color: #6e7781; margin-right: 1.25rem }
main ol { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 1rem; margin: 1.5rem 0 }
main li { border: 1px solid #d0d7de; border-radius: .5rem; padding: .9rem; display: flex; flex-direction: column; gap: .5rem }
main li img { width: 100%; height: 10rem; object-fit: contain }
main li span { margin-top: auto; font-weight: 600 }
nav + nav, main + nav { border-top: 1px solid #d0d7de; margin-top: 1rem; padding-top: 1rem }
[rel="prev"]::before { content: "← " }
[rel="next"]::after { content: " →" }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  a { color: #79b8ff }
  main li, nav + nav, main + nav { border-color: #30363d }
}
`
/** What a page may load: its own style, and images of its documents. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; img-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** JSON inside a script element: nothing in it can end the element or begin a comment. */
export const scriptJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** Home page of the site; a mere path has only `/`. */
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
/** Empty `alt`: the title is next to the image. */
const pictureOf = ({ image }: Product): string =>
  image === undefined || !/^https?:\/\//i.test(image) ? "" : `<img src="${escaped(image)}" alt="" loading="lazy">`
const productLine = (product: Product): string =>
  `<li>${pictureOf(product)}${product.url === undefined ? `<bdi>${escaped(product.title)}</bdi>` : anchor({ label: product.title, url: product.url })}${priceOf(product)}</li>`

const listed = (label: string, lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "" : `<nav aria-label="${label}">\n<ul>\n${lines.join("\n")}\n</ul>\n</nav>\n`
/** `und`: the documents' language is unknown. */
const whole = (head: ReadonlyArray<string>, body: string): string =>
  `<!DOCTYPE html>\n<html lang="und">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>${STYLE}</style>\n${head.filter((line) => line !== "").join("\n")}\n</head>\n<body>\n${body}</body>\n</html>\n`

export const pageHtml = (page: ShownPage): string => {
  const { canonical_url, description, h1, isIndexed, next, prev, products, related, text, title } = page
  const head = [
    `<title>${escaped(title)}</title>`,
    description === "" ? "" : `<meta name="description" content="${escaped(description)}">`,
    isIndexed ? "" : '<meta name="robots" content="noindex, follow">',
    // A thin page names itself as canonical, because it is hidden but duplicates no other page.
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
