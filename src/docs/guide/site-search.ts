/**
 * Searches the guide with the engine that it describes: `@dowser/engine-sdk` in memory. The text below each heading
 * is a document; they are read at the first search, one page at a time, so that requests continue meanwhile.
 */
import { createSearch, type Search } from "@dowser/engine-sdk"
import { addressOf } from "./places.ts"
import type { GuideSite } from "./site.ts"

const HITS_MAX = 10
/**
 * The slowest query of 100 characters takes 20 ms once the code is compiled. The first search of a process on a busy
 * machine takes a multiple of that, and a search that is cut off would report no hits.
 */
const CUTOFF_MS = 1_000
/** Limit of the text below one heading; the rest is not searched. */
const TEXT_CHARACTERS_MAX = 20_000
const fields = {
  title: "string",
  heading: "string",
  text: "string",
  url: { type: "string", index: false, optional: true }
} as const
type Found = Search<{ readonly title: string; readonly heading: string; readonly text: string; readonly url?: string }>

interface GuideHit {
  readonly title: string
  readonly heading: string
  readonly url: string
  readonly excerpt: string
}
export class SiteSearch {
  readonly #site: GuideSite
  #index: Promise<Found> | undefined
  constructor(site: GuideSite) {
    this.#site = site
  }
  async #build(): Promise<Found> {
    const index: Found = createSearch({ fields })
    for (const id of await this.#site.ids()) {
      const page = await this.#site.read(id)
      if (page === undefined) continue
      await index.add(
        page.parts.map(({ heading, text }) => ({
          title: page.title,
          heading: heading.text,
          text: text.slice(0, TEXT_CHARACTERS_MAX),
          url: `${addressOf(id)}${heading.level === 1 ? "" : `#${heading.id}`}`
        }))
      )
    }
    return index
  }
  async search(q: string): Promise<{ readonly found: number; readonly hits: ReadonlyArray<GuideHit> }> {
    this.#index ??= this.#build().catch((error: unknown) => {
      this.#index = undefined
      throw error
    })
    const index = await this.#index
    const { found, hits } = await index.search(q, {
      queryBy: ["title", "heading", "text"],
      perPage: HITS_MAX,
      parameters: {
        search_cutoff_ms: CUTOFF_MS,
        highlight_fields: "text",
        highlight_start_tag: "",
        highlight_end_tag: "",
        highlight_affix_num_tokens: 12,
        exhaustive_search: false
      }
    })
    return {
      found,
      hits: hits.map(({ document: { heading, text, title, url = "" }, highlight }) => {
        const { snippet } = (highlight.text ?? {}) as { readonly snippet?: string }
        return { title, heading, url, excerpt: (snippet ?? text.slice(0, 160)).replace(/\s+/g, " ").trim() }
      })
    }
  }
}
