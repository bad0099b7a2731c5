/**
 * The reference engine's own JavaScript client, unchanged, against `/v1`: what a shop that already uses it would do,
 * down to its error classes and the keys that it signs locally.
 */
import { Client, Errors } from "typesense"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant
let client: Client
const clientFor = (apiKey: string) =>
  new Client({
    apiKey,
    nodes: [{ host: "127.0.0.1", port: Number(new URL(program.base).port), protocol: "http", path: "/v1" }],
    numRetries: 1,
    connectionTimeoutSeconds: 5
  })
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Stock")
  client = clientFor(tenant.full_key)
})
afterAll(() => program.stop())

interface Book extends Record<string, unknown> {
  id: string
  title: string
  author: string
  year: number
  tags: Array<string>
}
const books: ReadonlyArray<Book> = [
  { id: "1", title: "The Copper Kettle", author: "Ida Marsh", year: 1999, tags: ["kitchen"] },
  { id: "2", title: "Kettle Songs", author: "Ole Berg", year: 2005, tags: ["music", "kitchen"] },
  { id: "3", title: "Running Water", author: "Ida Marsh", year: 2011, tags: ["nature"] }
]

describe("stock client", () => {
  it("creates, lists, changes and drops collections", async () => {
    const created = await client.collections().create({
      name: "books",
      fields: [
        { name: "title", type: "string" },
        { name: "author", type: "string", facet: true },
        { name: "year", type: "int32", facet: true },
        { name: "tags", type: "string[]", facet: true }
      ],
      default_sorting_field: "year"
    })
    expect(created.name).toBe("books")
    expect((await client.collections().retrieve()).map(({ name }) => name)).toEqual(["books"])
    await client.collections("books").update({ fields: [{ name: "pages", type: "int32", optional: true }] })
    expect((await client.collections("books").retrieve()).fields?.map(({ name }) => name)).toContain("pages")
    await client.collections().create({ name: "short_lived", fields: [{ name: "x", type: "string" }] })
    await client.collections("short_lived").delete()
    expect(await client.collections("short_lived").exists()).toBe(false)
  })
  it("writes documents one by one and many at once", async () => {
    const documents = client.collections<Book>("books").documents()
    expect(await documents.create(books[0])).toEqual(books[0])
    const results = await documents.import([...books.slice(1)], { action: "upsert" })
    expect(results.map(({ success }) => success)).toEqual([true, true])
    await expect(documents.import([{ ...books[0] }], { action: "create" })).rejects.toBeInstanceOf(Errors.ImportError)
    expect(await client.collections<Book>("books").documents("2").retrieve()).toEqual(books[1])
    expect((await client.collections<Book>("books").documents("2").update({ year: 2006 })).year).toBe(2006)
    expect((await documents.update({ year: 2007 } as Book, { filter_by: "author:=`Ole Berg`" })).num_updated).toBe(1)
    const lines = (await documents.export()).split("\n").map((line) => JSON.parse(line) as Book)
    expect(lines.map(({ id }) => id).sort()).toEqual(["1", "2", "3"])
  })
  it("searches, several at once and merged", async () => {
    const found = await client
      .collections<Book>("books")
      .documents()
      .search({ q: "ketle", query_by: "title", facet_by: "author,tags" })
    expect(found.found).toBe(2)
    expect(found.hits?.[0].highlight.title?.snippet).toContain("<mark>")
    expect(found.facet_counts?.map(({ field_name }) => field_name)).toEqual(["author", "tags"])
    const many = await client.multiSearch.perform<[Book, Book]>({
      searches: [
        { collection: "books", q: "kettle", query_by: "title" },
        { collection: "books", q: "*", filter_by: "year:>2010" }
      ]
    })
    expect(many.results.map(({ found: count }) => count)).toEqual([2, 1])
    const union = await client.multiSearch.perform({
      union: true,
      searches: [
        { collection: "books", q: "kettle", query_by: "title" },
        { collection: "books", q: "water", query_by: "title" }
      ]
    })
    expect((union as unknown as { found: number }).found).toBe(3)
    const broken = await client.multiSearch.perform({
      searches: [
        { collection: "nowhere", q: "*" },
        { collection: "books", q: "*" }
      ]
    })
    expect([
      (broken.results[0] as unknown as { code: number }).code,
      (broken.results[1] as unknown as { found: number }).found
    ]).toEqual([404, 3])
  })
  it("follows aliases", async () => {
    await client.aliases().upsert("library", { collection_name: "books" })
    expect((await client.aliases("library").retrieve()).collection_name).toBe("books")
    expect((await client.collections("library").documents().search({ q: "water", query_by: "title" })).found).toBe(1)
    expect((await client.aliases().retrieve()).aliases).toHaveLength(1)
    await client.aliases("library").delete()
    await expect(client.aliases("library").retrieve()).rejects.toBeInstanceOf(Errors.ObjectNotFound)
  })
  it("stores presets, synonyms, stopwords and curations", async () => {
    await client.presets().upsert("by_title", { value: { query_by: "title" } })
    expect(
      (
        await client
          .collections("books")
          .documents()
          .search({ q: "water", preset: "by_title" } as never)
      ).found
    ).toBe(1)
    await client.stopwords().upsert("articles", { stopwords: ["the"] })
    expect(
      (
        await client
          .collections("books")
          .documents()
          .search({ q: "the", query_by: "title", stopwords: "articles" } as never)
      ).found
    ).toBe(0)
    await program.request("PUT", "/v1/synonym_sets/words", {
      key: tenant.full_key,
      body: { items: [{ id: "pot", synonyms: ["kettle", "teapot"] }] }
    })
    expect(
      (
        await client
          .collections("books")
          .documents()
          .search({ q: "teapot", query_by: "title", synonym_sets: "words" } as never)
      ).found
    ).toBe(2)
  })
  it("throws its own error classes", async () => {
    await expect(client.collections("nowhere").retrieve()).rejects.toBeInstanceOf(Errors.ObjectNotFound)
    await expect(
      client.collections().create({ name: "books", fields: [{ name: "x", type: "string" }] })
    ).rejects.toBeInstanceOf(Errors.ObjectAlreadyExists)
    await expect(
      client.collections().create({ name: "bad", fields: [{ name: "x", type: "nonsense" as "string" }] })
    ).rejects.toBeInstanceOf(Errors.RequestMalformed)
    await expect(clientFor("x".repeat(80)).collections().retrieve()).rejects.toBeInstanceOf(Errors.RequestUnauthorized)
    await expect(client.collections("books").documents().search({ q: "x", query_by: "nothing" })).rejects.toThrow(
      "Could not find a field named `nothing` in the schema."
    )
  })
  it("creates keys, and signs narrower ones locally that are enforced", async () => {
    const made = await client
      .keys()
      .create({ description: "Search only", actions: ["documents:search"], collections: ["books"] })
    const search = clientFor(made.value as string)
    expect((await search.collections("books").documents().search({ q: "*" })).found).toBe(3)
    await expect(search.collections().retrieve()).rejects.toMatchObject({ httpStatus: 403 })
    const scoped = client
      .keys()
      .generateScopedSearchKey(made.value as string, { filter_by: "author:=`Ida Marsh`", exclude_fields: "tags" })
    const narrow = clientFor(scoped)
    const hits = await narrow
      .collections<Book>("books")
      .documents()
      .search({ q: "*", filter_by: "year:>2000", include_fields: "title,tags,author" })
    expect(hits.hits?.map(({ document }) => document)).toEqual([{ title: "Running Water", author: "Ida Marsh" }])
    expect(
      (
        await narrow
          .collections<Book>("books")
          .documents()
          .search({ q: "*", filter_by: "author:=`Ole Berg` || year:>0" })
      ).found
    ).toBe(2)
    const expired = client.keys().generateScopedSearchKey(made.value as string, { expires_at: 1 } as never)
    await expect(clientFor(expired).collections("books").documents().search({ q: "*" })).rejects.toBeInstanceOf(
      Errors.RequestUnauthorized
    )
    await client.keys(made.id as number).delete()
    await expect(search.collections("books").documents().search({ q: "*" })).rejects.toBeInstanceOf(
      Errors.RequestUnauthorized
    )
  })
  it("deletes documents", async () => {
    expect(await client.collections("books").documents("1").delete()).toMatchObject({ id: "1" })
    expect((await client.collections("books").documents().delete({ filter_by: "year:>2010" })).num_deleted).toBe(1)
    expect((await client.collections("books").retrieve()).num_documents).toBe(1)
  })
})
