/**
 * Splits a long page into sections of 800 to 1,200 characters at its headings and paragraphs, so that a search finds
 * the section with the answer. Each section keeps the headings above it. Pure.
 */
import type { Block } from "./main-content.ts"
import { cut } from "./clean-text.ts"

const SECTION_LENGTH_MIN = 800
export const SECTION_LENGTH_MAX = 1_200
const SECTIONS_MAX = 200

interface Section {
  /** From the outermost heading inwards. */ readonly headings: ReadonlyArray<string>
  readonly text: string
}

/** Splits one text at the ends of sentences, else between words, else anywhere. */
const pieces = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let rest = text; rest !== "";) {
    if (rest.length <= SECTION_LENGTH_MAX) {
      found.push(rest)
      break
    }
    const window = rest.slice(0, SECTION_LENGTH_MAX)
    const ends = Math.max(...[". ", "! ", "? ", "。", "\n"].map((end) => window.lastIndexOf(end) + 1))
    const at =
      ends >= SECTION_LENGTH_MIN / 2
        ? ends
        : window.lastIndexOf(" ") > SECTION_LENGTH_MIN / 2
          ? window.lastIndexOf(" ")
          : cut(window, SECTION_LENGTH_MAX).length
    found.push(rest.slice(0, at).trim())
    rest = rest.slice(at).trim()
  }
  return found
}

/** The path to a heading, which keeps the enclosing headings of lower levels. */
const below = (path: ReadonlyArray<Block>, heading: Block): ReadonlyArray<Block> => [
  ...path.filter(({ level }) => level < heading.level),
  heading
]

export const sectionsOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<Section> => {
  const sections: Array<Section> = []
  let path: ReadonlyArray<Block> = [],
    headings: ReadonlyArray<string> = [],
    text = ""
  const end = () => {
    if (text !== "") sections.push({ headings, text })
    text = ""
    headings = path.map((heading) => heading.text)
  }
  for (const block of blocks) {
    if (sections.length >= SECTIONS_MAX) return sections
    if (block.level > 0) {
      path = below(path, block)
      // A short section continues under the next heading, whose text it includes.
      if (text.length >= SECTION_LENGTH_MIN || text === "") end()
    }
    for (const piece of pieces(block.text)) {
      if (text !== "" && text.length + 1 + piece.length > SECTION_LENGTH_MAX) end()
      text += text === "" ? piece : `\n${piece}`
    }
  }
  end()
  return sections.slice(0, SECTIONS_MAX)
}
