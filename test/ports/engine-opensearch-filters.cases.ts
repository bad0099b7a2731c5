/**
 * Filters whose values end in a star: they take the best words of a field, the same ones that the engine in memory
 * takes.
 */
import { expect, it } from "vitest"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { createLab } from "../support/engine-lab.ts"

interface Made {
  readonly engine: SearchEngine
  readonly dispose: () => Promise<void>
}
const PRODUCTS = 300
const beginnings = (texts: ReadonlyArray<string>, lengths: ReadonlyArray<number>): string[] => [
  ...new Set(
    texts.flatMap((text, i) => {
      const [first, ...others] = text.toLowerCase().split(" ")
      return [first!, others.at(-1) ?? first!].map((word) => word.slice(0, lengths[i % lengths.length]))
    })
  )
]

export const opensearchFilterCases = (make: () => Promise<Made>, makeLarge: () => Promise<Made>): void => {
  it("filters that end in a star stand for the same words as in memory, including words just written", async () => {
    const products = [...generateCatalog({ seed: 5, products: PRODUCTS })]
    const { fields, name: _name, ...more } = productSchema("products")
    const { dispose, engine } = await make()
    const labs = [createLab(), createLab(engine)] as const
    try {
      for (const lab of labs) await lab.collection("products", fields, products, more)
      const titles = products.slice(0, 24).map(({ title }) => title)
      const short = beginnings(titles, [1, 1, 2, 3])
      const of = (wanted: ReadonlyArray<string>, form: (word: string, i: number) => string) => wanted.map(form)
      const filters = [
        ...of(short, (word) => `title:${word}*`),
        ...of(short.slice(0, 8), (word) => `description:${word}*`),
        ...of(short.slice(0, 8), (word) => `title:!${word}* && price:>50`),
        ...of(beginnings(titles, [1]).slice(0, 8), (word) => `title:=${word}*`),
        ...titles.slice(0, 8).map((title) => `title:=${title.split(" ")[0]} ${title.split(" ")[1]?.slice(0, 1)}*`),
        ...titles.slice(0, 4).map((title) => `title:"${title.split(" ")[0]} ${title.split(" ")[1]?.slice(0, 1)}*"`),
        "attributes:[w*, s*]",
        "attributes:=[w*, s*]"
      ]
      const compare = async (parameters: Record<string, string | number>) => {
        const [wanted, found] = await Promise.all(labs.map((lab) => lab.search("products", parameters)))
        const told = ({ body, status }: typeof wanted) => [
          status,
          body.found,
          body.hits?.map((hit: any) => hit.document.id)
        ]
        expect(told(found!), JSON.stringify(parameters)).toEqual(told(wanted!))
        return wanted!.body.found as number
      }
      let isCut = 0
      for (const [i, filter_by] of filters.entries()) {
        const most = [1, 2, 4, 10][i % 4]!
        const found = await compare({ q: "*", filter_by, max_filter_by_candidates: most, per_page: 20 })
        if (found < (await compare({ q: "*", filter_by, max_filter_by_candidates: 200, per_page: 20 }))) isCut++
      }
      // The limit matters: most prefixes have more words than are taken.
      expect(isCut).toBeGreaterThan(20)
      await compare({ q: "*", sort_by: "_eval(title:=s*):desc", max_filter_by_candidates: 2 })
      // A word that becomes the best for its prefix displaces another one.
      const fresh = Array.from({ length: 60 }, (_product, i) => ({
        ...products[0]!,
        id: `fresh-${i}`,
        title: "Szzz lamp"
      }))
      for (const lab of labs)
        await lab.call(
          "POST",
          "/collections/products/documents/import",
          fresh.map((one) => JSON.stringify(one)).join("\n")
        )
      expect(await compare({ q: "*", filter_by: "title:s*", max_filter_by_candidates: 1, per_page: 5 })).toBe(60)
      // Deletions by a filter take the same words.
      const path = `/collections/products/documents?${new URLSearchParams({ filter_by: "title:s*" })}`
      const deleted = await Promise.all(labs.map((lab) => lab.call("DELETE", path)))
      expect(deleted[1]).toEqual(deleted[0])
      await compare({ q: "*", per_page: 250 })
    } finally {
      await labs[0].close()
      await dispose()
    }
  })
  it("filters that end in a star stand for every word of a collection whose words are not kept in memory", async () => {
    const { dispose, engine } = await makeLarge()
    const lab = createLab(engine)
    try {
      const words = ["sa", "sb", "sc", "sd", "se", "sf"]
      const documents = words.map((word, i) => ({ id: String(i), title: `${word} lamp` }))
      await lab.collection("products", [{ name: "title", type: "string" }], documents)
      for (const filter_by of ["title:s*", "title:=s*"])
        expect((await lab.search("products", { q: "*", filter_by })).body.found, filter_by).toBe(6)
    } finally {
      await dispose()
    }
  })
}
