/**
 * Whatever word a text contains, it can be stored and searched, and so can everything beside it: in every locale that
 * the analyzer knows, stemmed and not, by every ranking. A word like "constructor" once broke every search of its
 * collection.
 */
import { describe, expect, it } from "vitest"
import { hasStemmer } from "../../engine-sdk/src/analysis/mod.ts"
import { createSearch } from "../../engine-sdk/src/mod.ts"
import { awkwardTexts, brokenTexts, inheritedNames, objectNames } from "../support/awkward-texts.ts"
import { createLab, type Lab } from "../support/engine-lab.ts"

const locales = [
  "",
  "en",
  "de_en",
  "ar",
  "hy",
  "da",
  "nl",
  "fi",
  "fr",
  "de",
  "el",
  "hu",
  "id",
  "ga",
  "it",
  "lt",
  "ne",
  "no",
  "pt",
  "ro",
  "ru",
  "sr",
  "es",
  "sv",
  "ta",
  "tr",
  "bg",
  "uk",
  "be",
  "fa",
  "th",
  "zh",
  "ja",
  "ko",
  "he",
  "hi"
]
const rankings = ["", "relevance"] as const
/** A word by which every document can be found, whatever else is in it. */
const beacon = "lighthouse"
const ask = async (lab: Lab, q: string, more: Record<string, string | number | boolean> = {}) => {
  const { body, status } = await lab.search("texts", { q, query_by: "plain,stemmed", per_page: 250, ...more })
  if (status !== 200) throw new Error(`${JSON.stringify(q.slice(0, 60))}: ${JSON.stringify(body)}`)
  return body as {
    readonly found: number
    readonly hits: ReadonlyArray<{ readonly document: Record<string, unknown> }>
  }
}
const shop = async (locale: string, texts: ReadonlyArray<string>): Promise<Lab> => {
  const lab = createLab()
  await lab.collection(
    "texts",
    [
      { name: "plain", type: "string", locale, facet: true, sort: true },
      { name: "stemmed", type: "string", locale, stem: hasStemmer(locale) },
      { name: "tags", type: "string[]", facet: true, infix: true }
    ],
    texts.map((text, i) => ({
      id: String(i),
      plain: `${text} ${beacon}`,
      stemmed: `${beacon} ${text}`,
      tags: [text, beacon]
    }))
  )
  return lab
}

describe.each(locales)("locale `%s`", (locale) => {
  it("finds every name that objects inherit, and everything beside it", async () => {
    const lab = await shop(locale, inheritedNames)
    for (const ranking of rankings) {
      const more: Record<string, string> = ranking === "" ? {} : { ranking }
      expect((await ask(lab, beacon, more)).found).toBe(inheritedNames.length)
      await ask(lab, "*", { ...more, facet_by: "plain,tags", max_facet_values: 1_000, sort_by: "plain:desc" })
      for (const [i, name] of inheritedNames.entries()) {
        const answer = await ask(lab, name, { ...more, prefix: false, num_typos: 0 })
        // A text without letters or digits is not a word.
        if (/[\p{L}\p{N}]/u.test(name))
          expect(
            answer.hits.map(({ document }) => document.id),
            `${name} by ${ranking}`
          ).toContain(String(i))
      }
    }
    await lab.close()
  })
  it("stores awkward texts, answers them as queries and still finds everything", async () => {
    // Only one locale for each way to split words also gets the long texts.
    const texts = [...awkwardTexts, ...brokenTexts].filter(
      ({ length }) => length < 3_000 || ["", "de", "ru", "th", "zh"].includes(locale)
    )
    const lab = await shop(locale, texts)
    for (const ranking of rankings) {
      const more: Record<string, string> = ranking === "" ? {} : { ranking }
      for (const text of texts) {
        await ask(
          lab,
          text.slice(0, 350),
          ranking === "" ? { facet_by: "tags", facet_query: `tags:${text.slice(0, 40)}`, max_facet_values: 5 } : more
        )
      }
      expect((await ask(lab, beacon, { ...more, sort_by: "plain:asc" })).found).toBe(texts.length)
    }
    await lab.close()
  })
})

describe("fields under names that objects inherit", () => {
  const documents = () => [
    JSON.parse(
      `{"id":"all",${objectNames.map((name) => `${JSON.stringify(name)}:"${beacon} value"`).join(",")}}`
    ) as Record<string, unknown>,
    { id: "none", title: `${beacon} none` },
    JSON.parse(
      `{"id":"inside","nested":{${objectNames.map((name) => `${JSON.stringify(name)}:"${beacon} deep"`).join(",")}}}`
    ) as Record<string, unknown>
  ]
  it("are returned as given, searched, faceted, sorted, filtered, selected and merged", async () => {
    const lab = createLab()
    const fields = [
      { name: "title", type: "string", optional: true },
      ...objectNames.map((name) => ({ name, type: "string", optional: true, facet: true, sort: true, infix: true })),
      ...objectNames.map((name) => ({ name: `nested.${name}`, type: "string", optional: true, facet: true }))
    ]
    await lab.collection("names", [...fields, { name: "nested", type: "object", optional: true }], documents(), {
      enable_nested_fields: true
    })
    for (const document of documents())
      expect(JSON.stringify((await lab.call("GET", `/collections/names/documents/${String(document.id)}`)).body)).toBe(
        JSON.stringify(document)
      )
    for (const name of objectNames)
      for (const parameters of [
        { q: beacon, query_by: name },
        { q: beacon, query_by: name, ranking: "relevance" },
        { q: "*", filter_by: `${name}:value`, facet_by: name, facet_return_parent: name },
        { q: beacon, query_by: name, include_fields: `id,${name}`, highlight_full_fields: name },
        { q: beacon, query_by: name, sort_by: `${name}:desc`, group_by: name },
        { q: beacon, query_by: name, exclude_fields: name },
        { q: "hthou", query_by: name, infix: "always" }
      ] as ReadonlyArray<Record<string, string>>) {
        const { body, status } = await lab.search("names", parameters)
        expect(status, `${name} ${JSON.stringify(parameters)}: ${JSON.stringify(body)}`).toBe(200)
        const hits = body.hits ?? body.grouped_hits.flatMap((group: { hits: unknown[] }) => group.hits)
        expect(
          hits.map((hit: { document: { id?: string } }) => hit.document.id),
          `${name} ${JSON.stringify(parameters)}`
        ).toEqual(["all"])
        if ("include_fields" in parameters) expect(Object.hasOwn(hits[0].document, name)).toBe(true)
        if ("exclude_fields" in parameters) expect(Object.hasOwn(hits[0].document, name)).toBe(false)
      }
    for (const name of objectNames)
      expect(
        (
          await lab.search("names", {
            q: beacon,
            query_by: `nested.${name}`,
            facet_by: `nested.${name}`,
            facet_return_parent: `nested.${name}`
          })
        ).body.hits.map((hit: { document: { id: string } }) => hit.document.id)
      ).toEqual(["inside"])
    const patch = `{"id":"none",${objectNames.map((name) => `${JSON.stringify(name)}:{"a":1}`).join(",")},"nested":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}`
    await lab.call("POST", "/collections/names/documents?action=emplace&dirty_values=coerce_or_drop", patch)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((await lab.search("names", { q: beacon, query_by: "title" })).body.found).toBe(1)
    await lab.close()
  })
  it("are inferred by a search without a schema", async () => {
    const search = createSearch()
    await search.add(documents())
    expect((await search.search(beacon)).found).toBe(3)
    expect((await search.search("constructor hasOwnProperty")).found).toBe(0)
    for (const document of documents())
      expect(JSON.stringify(await search.get(String(document.id)))).toBe(JSON.stringify(document))
    await search.add(inheritedNames.map((name, i) => ({ id: `word-${i}`, title: name })))
    expect((await search.search("constructor")).found).toBeGreaterThan(0)
    expect((await search.search(beacon)).found).toBe(3)
    await search.close()
  })
})
