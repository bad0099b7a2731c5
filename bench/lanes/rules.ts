/**
 * A thousand rules over any documents and queries, as in a shop that uses every kind: some fire, most do not. No seed
 * is needed, because every n-th query and document is taken.
 */
import type { Inputs } from "../inputs/inputs.ts"

interface RuleSetOptions {
  readonly rules: number
  /** For rerank, near-duplicates and MMR, the most informative first. */ readonly texts: ReadonlyArray<string>
  /** The field capped at three hits per value. */ readonly field: string
}

/**
 * Half are pins, then banners, suggestions, redirects (for queries that nobody sends) and slots; plus rerank and
 * diversity.
 */
export const ruleSetOf = ({ documents, queries }: Inputs, { field, rules, texts }: RuleSetOptions) => {
  const words = [...new Set(queries.map(({ q }) => String(q)))]
  const query = (i: number) => (i < words.length ? words[i] : `${words[i % words.length]} ${i}`)
  const idOf = (i: number): string =>
    String((JSON.parse(documents.at((i * 7_919) % documents.length)) as { readonly id: unknown }).id)
  const share = (of: number) => Array.from({ length: Math.floor((rules * of) / 20) }, (_, i) => i)
  return {
    pins: share(10).map((i) => ({
      query: query(i),
      match: "exact",
      doc_id: idOf(i),
      position: 1 + (i % 5),
      priority: i % 3
    })),
    banners: share(4).map((i) => ({
      id: `b${i}`,
      query: query(i).split(" ")[0],
      match: "partial",
      content: { text: `Banner ${i}` },
      priority: i
    })),
    suggestions: share(3).map((i) => ({
      query: query(i).slice(0, 4).trim() || "none",
      match: "prefix",
      suggestions: [query(i), query(i + 1)]
    })),
    redirects: share(2).map((i) => ({ query: `page ${i} of the handbook`, match: "exact", url: `/handbook/${i}` })),
    sponsored: share(1).map((i) => ({
      id: idOf(i + 31),
      query: query(3 * i),
      match: "exact",
      label: "Ad",
      campaign_id: `c${i}`,
      position: 4
    })),
    diversity: [
      {
        field,
        max: 3,
        near_duplicate: { fields: texts.slice(0, 1), threshold: 0.8 },
        mmr: { lambda: 0.7, text_fields: texts.slice(0, 1), k: 50 }
      }
    ],
    rerank: { enabled: true, model: "linear", top_k: 50, fields: texts.slice(0, 2) }
  }
}
