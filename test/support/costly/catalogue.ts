/**
 * A catalogue that is hard to search: long words, as many facet values as documents, arrays of thousands, texts of a
 * megabyte, joins both ways, resources that multiply.
 */
import type { Random } from "../../../fixtures/random.ts"

type Send = (
  method: string,
  path: string,
  body?: unknown
) => Promise<{ readonly status: number; readonly text: string }>

export const DIMENSIONS = 8
const PATTERN_FIELDS = 40
const DOCUMENTS = 4_000,
  MAKERS = 500
const syllables = ["ka", "lo", "mi", "ra", "to", "ne", "su", "vi", "ba", "de"]
/** Words that are similar, so that typos find many. */
export const wordOf = (random: Random): string =>
  Array.from({ length: 2 + random.below(4) }, () => random.pick(syllables)).join("")
const sentence = (random: Random, words: number): string =>
  Array.from({ length: words }, () => wordOf(random)).join(" ")

const goods = {
  name: "goods",
  enable_nested_fields: true,
  default_sorting_field: "n",
  fields: [
    { name: "title", type: "string", infix: true, sort: true, facet: true },
    { name: "body", type: "string", stem: true, infix: true },
    { name: "tags", type: "string[]", facet: true, infix: true },
    { name: "n", type: "int32", facet: true, sort: true },
    { name: "price", type: "float", facet: true, sort: true },
    { name: "numbers", type: "int64[]", facet: true, optional: true },
    { name: "place", type: "geopoint", optional: true },
    { name: "places", type: "geopoint[]", optional: true },
    { name: "vec", type: "float[]", num_dim: DIMENSIONS, optional: true },
    { name: "maker", type: "string", reference: "makers.code", optional: true },
    { name: "parts", type: "object[]", optional: true },
    { name: "parts.name", type: "string[]", facet: true, optional: true },
    { name: "parts.n", type: "int32[]", optional: true },
    { name: "unique", type: "string", facet: true },
    ...Array.from({ length: PATTERN_FIELDS }, (_field, i) => ({
      name: `p_${i}`,
      type: "string",
      facet: true,
      optional: true,
      infix: true
    }))
  ]
}
const makers = {
  name: "makers",
  fields: [
    { name: "code", type: "string", facet: true },
    { name: "name", type: "string", facet: true, sort: true },
    { name: "rank", type: "int32", sort: true, facet: true }
  ]
}

const documentOf = (random: Random, i: number): Record<string, unknown> => {
  const isLarge = i % 400 === 0
  return {
    id: `d${i}`,
    title: sentence(random, 6),
    body: isLarge ? sentence(random, 60_000) : i % 100 === 1 ? "x".repeat(60_000) : sentence(random, 60),
    tags: Array.from({ length: isLarge ? 20_000 : 5 }, (_tag, k) => `tag ${isLarge ? k : random.below(5_000)}`),
    n: i,
    price: random.below(100_000) / 100,
    numbers: Array.from({ length: isLarge ? 5_000 : 3 }, () => random.below(1_000_000)),
    place: [random.below(180) - 90, random.below(360) - 180],
    places: Array.from({ length: isLarge ? 2_000 : 2 }, () => [random.below(180) - 90, random.below(360) - 180]),
    vec: Array.from({ length: DIMENSIONS }, () => random.normal()),
    maker: `m${random.below(MAKERS)}`,
    parts: Array.from({ length: isLarge ? 2_000 : 3 }, () => ({ name: wordOf(random), n: random.below(100) })),
    unique: `${wordOf(random)} ${i}`,
    ...Object.fromEntries(Array.from({ length: 4 }, () => [`p_${random.below(PATTERN_FIELDS)}`, sentence(random, 3)]))
  }
}

const check = async (answer: ReturnType<Send>): Promise<void> => {
  const { status, text } = await answer
  if (status >= 300 || text.includes('"success":false')) throw new Error(`${status}: ${text.slice(0, 500)}`)
}
/** Creates everything that an organization's searches refer to. */
export const makeCatalogue = async (send: Send, random: Random): Promise<void> => {
  const words = Array.from({ length: 2_000 }, () => wordOf(random))
  await check(
    send("PUT", "/v1/synonym_sets/chains", {
      items: [
        ...Array.from({ length: 400 }, (_item, i) => ({
          id: `s${i}`,
          root: i % 2 === 0 ? words[i]! : "",
          synonyms: words.slice(i, i + 40)
        })),
        { id: "all", root: "", synonyms: words.slice(0, 1_000) },
        { id: "long", root: words[0]!, synonyms: [words.join(" ")] }
      ]
    })
  )
  await check(
    send("PUT", "/v1/curation_sets/costly", {
      items: [
        ...Array.from({ length: 100 }, (_item, i) => ({
          id: `c${i}`,
          rule: { query: "{tags} {title} {unique} {maker}", match: "contains" },
          filter_by: "tags:={tags}",
          remove_matched_tokens: true
        })),
        ...Array.from({ length: 300 }, (_item, i) => ({
          id: `w${i}`,
          rule: { query: words[i], match: "contains", synonyms: true, stem: true },
          includes: Array.from({ length: 50 }, (_include, k) => ({ id: `d${i * 7 + k}`, position: k + 1 }))
        }))
      ]
    })
  )
  await check(send("PUT", "/v1/stopwords/some", { stopwords: words.slice(0, 200) }))
  await check(send("POST", "/v1/collections", makers))
  await check(send("POST", "/v1/collections", { ...goods, synonym_sets: ["chains"], curation_sets: ["costly"] }))
  await check(
    send(
      "POST",
      "/v1/collections/makers/documents/import?action=upsert",
      Array.from({ length: MAKERS }, (_maker, i) =>
        JSON.stringify({ id: `m${i}`, code: `m${i}`, name: sentence(random, 3), rank: i })
      ).join("\n")
    )
  )
  for (let from = 0; from < DOCUMENTS; from += 500)
    await check(
      send(
        "POST",
        "/v1/collections/goods/documents/import?action=upsert",
        Array.from({ length: 500 }, (_document, i) => JSON.stringify(documentOf(random, from + i))).join("\n")
      )
    )
  await check(
    send("PUT", "/v1/collections/goods/search_rules", {
      boosts: Array.from({ length: 100 }, (_boost, i) => ({
        filter_by: `n:>${i * 30} && tags:=\`tag ${i}\``,
        weight: 1 + (i % 3),
        name: `b${i}`
      })),
      pins: words
        .slice(0, 200)
        .map((query, i) => ({ query, match: "partial", doc_id: `d${i}`, position: 1 + (i % 20) })),
      sponsored: words.slice(0, 20).map((query, i) => ({
        query,
        match: "partial",
        filter_by: `n:>${i}`,
        label: "Ad",
        campaign_id: "c",
        position: 1 + i
      })),
      diversity: [
        {
          field: "tags",
          max: 2,
          near_duplicate: { fields: ["title", "body"], threshold: 0.8 },
          mmr: { lambda: 0.5, vector_field: "vec", text_fields: ["body"], k: 50 }
        }
      ],
      facet_suggestions: { fields: ["tags", "unique"], limit: 10 },
      rerank: { enabled: true, model: "linear", fields: ["title", "body"], top_k: 200 }
    })
  )
}
