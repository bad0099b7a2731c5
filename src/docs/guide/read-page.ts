/**
 * A Markdown page as the site shows it, with its headings, its link targets, and the texts between headings, which
 * are searched. HTML in a document is escaped.
 */
import GithubSlugger from "github-slugger"
import hljs from "highlight.js/lib/core"
import bash from "highlight.js/lib/languages/bash"
import json from "highlight.js/lib/languages/json"
import typescript from "highlight.js/lib/languages/typescript"
import MarkdownIt from "markdown-it"
import { addressOf, GUIDE, type Target } from "./places.ts"

for (const [name, language] of [
  ["bash", bash],
  ["json", json],
  ["typescript", typescript]
] as const)
  hljs.registerLanguage(name, language)
hljs.registerAliases(["sh", "curl"], { languageName: "bash" })
hljs.registerAliases(["js", "mjs"], { languageName: "typescript" })

interface Heading {
  readonly id: string
  readonly text: string
  readonly level: number
}
/** The text below a heading, up to the next one. */
interface Part {
  readonly heading: Heading
  readonly text: string
}
export interface ReadPage {
  readonly title: string
  /** Rendered on demand, because link checks and searches do not need it. */ readonly html: () => string
  readonly headings: ReadonlyArray<Heading>
  readonly parts: ReadonlyArray<Part>
  /** As written. */ readonly links: ReadonlyArray<string>
}

const markdown = new MarkdownIt({
  html: false,
  highlight: (code, language) =>
    hljs.getLanguage(language) === undefined ? "" : hljs.highlight(code, { language }).value
})
type Token = ReturnType<typeof markdown.parse>[number]
export const { escapeHtml } = markdown.utils
// Content wider than a phone scrolls, so it must be focusable by keyboard.
const fence = markdown.renderer.rules.fence!
Object.assign(markdown.renderer.rules, {
  fence: (...given: Parameters<typeof fence>) => fence(...given).replace("<pre>", '<pre tabindex="0">'),
  table_open: () => '<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n',
  table_close: () => "</table></div>\n"
})

const plainOf = (tokens: ReadonlyArray<Token>): string =>
  tokens
    .map(({ children, content, type }) =>
      children !== null && children !== undefined ? plainOf(children) : /break$/.test(type) ? " " : content
    )
    .join("")

/** A header cell without text is not a column heading; a header with only such cells is removed. */
const withoutEmptyHeads = (tokens: ReadonlyArray<Token>): ReadonlyArray<Token> => {
  const kept: Array<Token> = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!
    if (token.type === "thead_open") {
      const end = tokens.findIndex(({ type }, i) => i > at && type === "thead_close")
      const isEmpty = tokens.slice(at, end).every(({ content, type }) => type !== "inline" || content === "")
      if (isEmpty) {
        at = end
        continue
      }
    }
    if (token.type === "th_open" && tokens[at + 1]?.content === "") {
      token.tag = "td"
      tokens[at + 2]!.tag = "td"
    }
    kept.push(token)
  }
  return kept
}

/** Gives every heading its id, in GitHub's format. */
const headingsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<Heading> => {
  const slugs = new GithubSlugger()
  return tokens.flatMap((token, at) => {
    if (token.type !== "heading_open") return []
    const text = plainOf(tokens[at + 1]?.children ?? [])
    const id = slugs.slug(text)
    token.attrSet("id", id)
    return [{ id, text, level: Number(token.tag.slice(1)) }]
  })
}

const partsOf = (tokens: ReadonlyArray<Token>, headings: ReadonlyArray<Heading>): ReadonlyArray<Part> => {
  const parts: Array<{ readonly heading: Heading; text: string }> = []
  let isHeading = false
  for (const token of tokens) {
    if (token.type === "heading_open") parts.push({ heading: headings[parts.length]!, text: "" })
    isHeading = token.type === "heading_open" || (isHeading && token.type !== "heading_close")
    const text = token.type === "inline" ? plainOf(token.children ?? []) : token.type === "fence" ? token.content : ""
    const part = parts.at(-1)
    if (part !== undefined && !isHeading && text !== "") part.text += `${text}\n`
  }
  return parts
}

type Resolve = (href: string) => Target
const addressOfTarget = (target: Target): string =>
  target.kind === "page"
    ? `${addressOf(target.id)}${target.anchor === "" ? "" : `#${target.anchor}`}`
    : target.kind === "picture"
      ? `${GUIDE}/${target.path}`
      : target.kind === "file"
        ? ""
        : target.address

/** Resolves links to pages of the site; the name of a file that the site does not show is not a link. */
const lead = (tokens: ReadonlyArray<Token>, resolve: Resolve): ReadonlyArray<string> => {
  const links: Array<string> = []
  for (const { children } of tokens) {
    let isFile = false
    for (const token of children ?? []) {
      const attribute = token.type === "link_open" ? "href" : token.type === "image" ? "src" : undefined
      if (attribute !== undefined) {
        const written = String(token.attrGet(attribute) ?? "")
        links.push(written)
        const target = resolve(written)
        token.attrSet(attribute, addressOfTarget(target))
        if (token.type === "image") token.attrSet("loading", "lazy")
        isFile = token.type === "link_open" && target.kind === "file"
        if (isFile && target.kind === "file") {
          token.tag = "span"
          token.attrs = [
            ["class", "file"],
            ["title", `${target.path} in the repository`]
          ]
        }
      }
      if (token.type === "link_close" && isFile) {
        token.tag = "span"
        isFile = false
      }
    }
  }
  return links
}

/** `resolve` returns the target of each link. */
export const readPage = (text: string, resolve: Resolve): ReadPage => {
  const tokens = withoutEmptyHeads(markdown.parse(text, {}))
  const headings = headingsOf(tokens)
  const parts = partsOf(tokens, headings)
  const links = lead(tokens, resolve)
  return {
    title: headings[0]?.text ?? "",
    html: () => markdown.renderer.render([...tokens], markdown.options, {}),
    headings,
    parts,
    links
  }
}

export interface Section {
  readonly title: string
  readonly pages: ReadonlyArray<{ readonly id: string; readonly label: string }>
}
/** The sidebar: each table of the first page under its heading, with the links of its first column. */
export const sectionsOf = (text: string, resolve: Resolve): ReadonlyArray<Section> => {
  const tokens = markdown.parse(text, {})
  const sections: Array<{ readonly title: string; readonly pages: Array<{ id: string; label: string }> }> = []
  for (const [at, token] of tokens.entries()) {
    const inside = tokens[at + 1]
    if (token.type === "heading_open" && token.tag === "h2")
      sections.push({ title: plainOf(inside?.children ?? []), pages: [] })
    if (token.type !== "td_open" || tokens[at - 1]?.type !== "tr_open") continue
    const link = inside?.children?.find(({ type }) => type === "link_open")
    const target = link === undefined ? undefined : resolve(String(link.attrGet("href") ?? ""))
    if (target?.kind === "page") sections.at(-1)?.pages.push({ id: target.id, label: plainOf(inside?.children ?? []) })
  }
  return sections
}
