/**
 * The relevance bench on a few generated documents: it runs, writes runs in the agreed format, and makes the errors
 * that it announces.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { joinedWords, withTypo } from "../../bench/inputs/query-errors.ts"
import { benchRelevance } from "../../bench/lanes/relevance.ts"
import { generateCatalog } from "../../fixtures/catalog/generate.ts"

describe("bench relevance", () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "dowser-relevance-"))
    const products = [...generateCatalog({ seed: 3, products: 200 })]
    writeFileSync(
      join(folder, "docs.jsonl.gz"),
      gzipSync(products.map((product) => JSON.stringify(product)).join("\n"))
    )
    writeFileSync(
      join(folder, "queries.jsonl"),
      products
        .slice(0, 5)
        .map(({ title }, i) => JSON.stringify({ id: `q${i}`, text: title }))
        .join("\n")
    )
    writeFileSync(
      join(folder, "qrels.tsv"),
      products
        .slice(0, 5)
        .map(({ id }, i) => `q${i}\t${id}\t3`)
        .join("\n")
    )
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  it("prints the three measures and writes the run", async () => {
    const file = (name: string) => join(folder, name)
    await benchRelevance({
      docs: file("docs.jsonl.gz"),
      queries: file("queries.jsonl"),
      qrels: file("qrels.tsv"),
      queryBy: "title,brand,attr*",
      schema: undefined,
      ranking: "relevance",
      compare: true,
      embedder: "none",
      run: file("run.tsv"),
      seed: 7,
      out: file("out.json")
    })
    const rows = readFileSync(file("run.tsv"), "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split("\t"))
    expect(rows.every((row) => row.length === 4)).toBe(true)
    for (const query of ["q0", "q4"]) {
      const own = rows.filter(([id]) => id === query)
      expect(own.length).toBeLessThanOrEqual(100)
      expect(own.map(([, , rank]) => Number(rank))).toEqual(own.map((_row, i) => i + 1))
      const scores = own.map(([, , , score]) => Number(score))
      expect(scores).toEqual([...scores].sort((a, b) => b - a))
    }
    const figures = JSON.parse(readFileSync(file("out.json"), "utf8")) as Record<string, Record<string, unknown>>
    for (const ranking of ["plain", "bm25", "relevance"])
      expect(Object.keys(figures[ranking])).toEqual(
        expect.arrayContaining(["nDCG@10", "MRR", "recall@100", "p50_ms", "p95_ms"])
      )
  })
  it("makes one error in a query, the same for the same seed", () => {
    expect(withTypo("wireless headphones", 5)).toBe(withTypo("wireless headphones", 5))
    expect(withTypo("usb", 5)).toBe("usb")
    expect(joinedWords("gaming mouse", 1)).toBe("gamingmouse")
    expect(joinedWords("mouse 5", 1)).toBe("mouse 5")
  })
})
