/**
 * Extracts the main text of a page as blocks in page order. Readability finds it; otherwise blocks with much text and
 * few links are taken. Readability's cost grows faster than the page, so it runs only on pages of ordinary size.
 */
import { Readability } from "@mozilla/readability"
import { Parser } from "htmlparser2"
import { parseHTML } from "linkedom"
import { cut, lines } from "./clean-text.ts"

export interface Block {
  /** 1 to 6 for a heading, 0 for text. */ readonly level: number
  readonly text: string
}
const READABLE_ELEMENTS_MAX = 6_000,
  READABLE_LENGTH_MAX = 400_000
const TEXT_LENGTH_MAX = 300_000
const BLOCK =
  /^(?:p|div|br|hr|li|ul|ol|dl|dt|dd|table|tr|td|th|caption|pre|section|article|header|footer|nav|aside|main|figure|figcaption|blockquote|address|details|summary|fieldset|h[1-6])$/
const AROUND = /^(?:nav|header|footer|aside|menu)$/

interface FoundBlock extends Block {
  /** Number of characters inside links. */ readonly linked: number
  readonly isAround: boolean
}

/** Blocks of visible HTML, in order. */
const blocksOf = (html: string): ReadonlyArray<FoundBlock> => {
  const found: Array<FoundBlock> = []
  let text = "",
    linked = 0,
    level = 0,
    links = 0,
    around = 0,
    total = 0
  const end = () => {
    const whole = lines(text)
    if (whole !== "" && total < TEXT_LENGTH_MAX) {
      const kept = cut(whole, TEXT_LENGTH_MAX - total)
      total += kept.length
      found.push({ level, text: kept, linked, isAround: around > 0 })
    }
    text = ""
    linked = 0
  }
  const parser = new Parser({
    onopentagname: (name) => {
      if (!BLOCK.test(name)) {
        if (name === "a") links++
        return
      }
      end()
      level = /^h[1-6]$/.test(name) ? Number(name[1]) : 0
      if (AROUND.test(name)) around++
    },
    ontext: (piece) => {
      text += piece
      if (links > 0) linked += piece.length
    },
    onclosetag: (name) => {
      if (name === "a") links = Math.max(0, links - 1)
      if (!BLOCK.test(name)) return
      end()
      level = 0
      if (AROUND.test(name)) around = Math.max(0, around - 1)
    }
  })
  parser.write(html)
  parser.end()
  end()
  return found
}

const elementsOf = (html: string): number => {
  let count = 0
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", at + 1)) count++
  return count / 2
}
/** HTML of the article; undefined if there is none, or if the page is too large to look for it. */
const articleOf = (html: string): string | undefined => {
  if (html.length > READABLE_LENGTH_MAX || elementsOf(html) > READABLE_ELEMENTS_MAX) return undefined
  const { document } = parseHTML(`<!doctype html><html><head></head><body>${html}</body></html>`)
  const article = new Readability(document as unknown as ConstructorParameters<typeof Readability>[0], {
    maxElemsToParse: 2 * READABLE_ELEMENTS_MAX,
    charThreshold: 200,
    nbTopCandidates: 3,
    disableJSONLD: true
  }).parse()
  return article?.content ?? undefined
}
const lengthOf = (blocks: ReadonlyArray<Block>): number => blocks.reduce((sum, { text }) => sum + text.length, 0)

export const mainContent = (html: string): ReadonlyArray<Block> => {
  const all = blocksOf(html)
  const dense = all.filter(({ isAround, linked, text }) => !isAround && linked * 2 <= text.length)
  const article = articleOf(html)
  const read = article === undefined ? [] : blocksOf(article)
  // If Readability keeps only a small part of the page, it has misread the page.
  if (lengthOf(read) * 4 >= lengthOf(dense)) return read
  return dense.length > 0 ? dense : all
}
