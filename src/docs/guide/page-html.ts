/** The HTML document around a page of the guide: sidebar, search box, contents, previous and next page. Pure. */
import { addressOf } from "./places.ts"
import { escapeHtml, type ReadPage, type Section } from "./read-page.ts"

const anchor = (id: string, label: string, own: string): string =>
  `<a href="${addressOf(id)}"${id === own ? ' aria-current="page"' : ""}>${escapeHtml(label)}</a>`

/** A long section is folded, unless it contains the current page. */
const UNFOLDED_MAX = 16
const sectionHtml = ({ pages, title }: Section, own: string): string => {
  const list = `<ul>\n${pages.map(({ id, label }) => `<li>${anchor(id, label, own)}</li>`).join("\n")}\n</ul>`
  if (pages.length <= UNFOLDED_MAX) return `<h2>${escapeHtml(title)}</h2>\n${list}`
  const isOpen = pages.some(({ id }) => id === own)
  return `<details${isOpen ? " open" : ""}><summary>${escapeHtml(title)}</summary>\n${list}\n</details>`
}

const contentsHtml = ({ headings }: ReadPage): string => {
  const shown = headings.filter(({ level }) => level === 2 || level === 3)
  if (shown.length < 2) return ""
  const lines = shown.map(
    ({ id, level, text }) => `<li class="level-${level}"><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`
  )
  return `<nav class="contents" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${lines.join("\n")}\n</ul>\n</nav>`
}

const aroundHtml = (sections: ReadonlyArray<Section>, own: string): string => {
  const pages = [{ id: "", label: "Guides" }, ...sections.flatMap((section) => section.pages)]
  const at = pages.findIndex(({ id }) => id === own)
  const before = pages[at - 1],
    after = pages[at + 1]
  if (at < 0 || (before === undefined && after === undefined)) return ""
  const one = (page: { readonly id: string; readonly label: string } | undefined, rel: "prev" | "next") =>
    page === undefined
      ? ""
      : `<a rel="${rel}" href="${addressOf(page.id)}"><span>${rel === "prev" ? "Previous" : "Next"}</span> ${escapeHtml(page.label)}</a>\n`
  return `<nav class="around" aria-label="Previous and next">\n${one(before, "prev")}${one(after, "next")}</nav>`
}

/** `own` is the page's id. */
export const pageHtml = (own: string, page: ReadPage, sections: ReadonlyArray<Section>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} · Dowser</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/guide.css">
<script src="/docs/guide.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="name" href="${addressOf("")}">Dowser guide</a>
<form id="search" role="search" hidden><label for="asked" class="unseen">Search the guide</label><input id="asked" type="search" name="q" maxlength="100" autocomplete="off" placeholder="Search the guide" aria-controls="found"></form>
<nav aria-label="Dowser"><a href="/docs">API reference</a> <a href="/">Demo shop</a></nav>
</header>
<section id="found" aria-label="Search results" hidden><p role="status"></p><ol></ol></section>
<div class="columns">
<nav class="pages" aria-label="Guides"><details class="all" open><summary>All pages</summary>
${sections.map((section) => sectionHtml(section, own)).join("\n")}
</details></nav>
<main id="content" tabindex="-1">
<article>
${page.html()}</article>
${aroundHtml(sections, own)}
</main>
${contentsHtml(page)}
</div>
</body>
</html>
`
