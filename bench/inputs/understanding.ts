/**
 * How well queries are understood, on inputs whose correct answer is known by construction: words typed on another
 * layout or in another script, queries with one typing error, queries that name values. Runs in process.
 */
import { createEngine } from "../../engine-sdk/src/memory/mod.ts"
import { analyzerOf } from "../../engine-sdk/src/analysis/mod.ts"
import type { Awaitable, SearchEngine } from "../../engine-sdk/src/engine.ts"
import {
  createCollection,
  memoryResources,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch
} from "../../engine-sdk/src/operations/mod.ts"
import type { CollectionInfo } from "../../engine-sdk/src/schema.ts"
import {
  chosenEntities,
  correctedQuery,
  type Entity,
  type LayoutName,
  typedOn
} from "../../engine-sdk/src/understanding/mod.ts"
import { generateCatalog, type Product, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateQueries } from "../../fixtures/queries/generate.ts"
import { makeRandom, type Random } from "../../fixtures/random.ts"
import { englishWords, greekWords, russianWords, ukrainianWords } from "../../fixtures/words/words.ts"
import { type SearchWithAnswer, REWRITES_MAX, rewritten, type Rewritten } from "../../src/search/rewriting.ts"
import { EntityIndexes } from "../../src/understanding/entity-indexes.ts"
import { understoodMembers } from "../../src/search/understood-answer.ts"
import { understood } from "../../src/understanding/understanding.ts"
import { wordsOf } from "../../src/understanding/words-of.ts"
import { romanized, systems } from "./romanized.ts"

const NAMESPACE = "bench"

/** A collection in memory, searched the way the program searches it. */
export interface Lab {
  readonly context: OperationContext
  readonly collection: CollectionInfo
  /** `corrects` is true by default. */
  readonly ask: (parameters: Record<string, string>, corrects?: boolean) => Promise<SearchWithAnswer>
  readonly rewrite: (parameters: Record<string, string>) => Promise<Rewritten>
  readonly entities: (q: string) => Promise<ReadonlyArray<Entity>>
  /** JSON of the members added to the response. */ readonly understand: (made: Rewritten) => Awaitable<string>
  /** Size of the index of values, once a query was understood. */
  readonly entityIndex: () => Promise<{ readonly bytes: number; readonly size: number }>
  readonly close: () => Promise<void>
}
const valueOf = <A>(
  result: { readonly ok: true; readonly value: A } | { readonly ok: false; readonly error: unknown }
): A => {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
export const openLab = async (
  schema: { readonly name: string } & Record<string, unknown>,
  documents: Iterable<object>,
  engine: SearchEngine = createEngine()
): Promise<Lab> => {
  const context: OperationContext = { engine, resources: memoryResources(), namespace: NAMESPACE, now_s: 0 }
  valueOf(await createCollection(context, JSON.stringify(schema)))
  const operations = [...documents].map((document) => ({
    kind: "put" as const,
    action: "create" as const,
    dirtyValues: undefined,
    document: document as Record<string, unknown>
  }))
  valueOf(await engine.write(NAMESPACE, schema.name, operations))
  const collection = engine.describeCollection(NAMESPACE, schema.name)!
  const reach = new Reach(context, {})
  const ask = async (parameters: Record<string, string>, corrects = true): Promise<SearchWithAnswer> => {
    const request = valueOf(readSearch(context, schema.name, parameters, {}))
    const planned = valueOf(await prepareSearch(context, request, reach))
    const search = { ...planned, plan: { ...planned.plan, corrects } }
    return { search, found: valueOf(await runSearch(context, search)) }
  }
  const indexes = new EntityIndexes({
    contextOf: () => context,
    changesOf: () => 0,
    now_ms: () => 0,
    inSlices: async (steps) => {
      for (;;) {
        const step = steps.next()
        if (step.done === true) return step.value
      }
    },
    failed: (why) => {
      throw new Error(JSON.stringify(why))
    }
  })
  return {
    context,
    collection,
    ask,
    rewrite: async (parameters) =>
      rewritten(
        {
          context,
          account: { left: REWRITES_MAX },
          again: async (q) => ({ ok: true, value: await ask({ ...parameters, q }) })
        },
        await ask(parameters)
      ),
    entities: async (q) => {
      const index = await indexes.of(NAMESPACE, collection)
      const candidates = index?.candidates(wordsOf(collection.schema).tokenize(q)) ?? []
      return chosenEntities(candidates, (_field, value) => value)
    },
    understand: (made) => {
      const { search } = made
      const result = understood(
        indexes,
        {
          caller: everything,
          context,
          reach,
          search,
          looks: { left: 0 },
          until: Infinity,
          q: search.parameters.q ?? ""
        },
        () => undefined
      )
      return result instanceof Promise
        ? result.then((late) => understoodMembers(made, late))
        : understoodMembers(made, result)
    },
    entityIndex: async () => (await indexes.of(NAMESPACE, collection)) ?? { bytes: 0, size: 0 },
    close: () => engine.close()
  }
}
/** A key without restrictions. */
const everything = { organizationId: NAMESPACE, embedded: undefined, key: { fields: [], filter_by: {} } }

// ---- other layouts and scripts -------------------------------------------------------------------------------------

interface Typed {
  readonly word: string
  readonly q: string
}
interface Share {
  /** Queries that find nothing as typed. */ readonly tried: number
  readonly right: number
  readonly wrong: ReadonlyArray<string>
}
const vocabularies = {
  russian: russianWords,
  ukrainian: ukrainianWords,
  greek: greekWords,
  english: englishWords
} as const
const layoutsOf: Readonly<Record<keyof typeof vocabularies, ReadonlyArray<LayoutName>>> = {
  russian: ["qwerty"],
  ukrainian: ["qwerty"],
  greek: ["qwerty"],
  english: ["russian", "ukrainian", "greek", "hebrew", "arabic"]
}
const languages = Object.keys(vocabularies) as ReadonlyArray<keyof typeof vocabularies>
/** Three hundred words, each the title of one document. */
export const openWords = (): Promise<Lab> =>
  openLab(
    { name: "words", fields: [{ name: "title", type: "string" }] },
    languages.flatMap((language) => vocabularies[language].map((title, i) => ({ id: `${language} ${i}`, title })))
  )
export const typedOnLayouts = (): ReadonlyArray<Typed> =>
  languages.flatMap((language) =>
    layoutsOf[language].flatMap((on) =>
      vocabularies[language].flatMap((word) => {
        const q = typedOn(word, language === "english" ? "qwerty" : language, on)
        return q === undefined ? [] : [{ word, q }]
      })
    )
  )
export const transliterated = (): ReadonlyArray<Typed> =>
  languages.flatMap((language) =>
    Object.values(systems[language]).flatMap((letters) =>
      vocabularies[language].map((word) => ({ word, q: romanized(word, letters) }))
    )
  )
/** Rewrites with every kind allowed, so that one kind may interfere with another. */
export const rewriteShare = async (lab: Lab, typed: ReadonlyArray<Typed>): Promise<Share> => {
  let tried = 0,
    right = 0
  const wrong: Array<string> = []
  for (const { q, word } of typed) {
    const asked = { q, query_by: "title" }
    if ((await lab.ask(asked)).found.answer.found > 0) continue
    tried++
    const answered = await lab.rewrite({ ...asked, query_rewrite: "layout,translit,split" })
    const title = answered.found.answer.hits?.[0]?.document.title
    if (title === word) right++
    else wrong.push(`${word}: ${q} as ${answered.used?.q ?? "nothing"}`)
  }
  return { tried, right, wrong }
}

// ---- typing errors -------------------------------------------------------------------------------------------------

const CATALOGUE = { seed: 11, products: 3_000 }
export const catalogueProducts = (): ReadonlyArray<Product> => [...generateCatalog(CATALOGUE)]
export const openCatalogue = (products: ReadonlyArray<Product>): Promise<Lab> =>
  openLab(productSchema("products"), products)

interface Corrections {
  readonly mistyped: Share
  /** The share of clean queries that stay unchanged. */ readonly clean: Share
}
export const correctionShares = async (
  lab: Lab,
  products: ReadonlyArray<Product>,
  queries: number,
  ranking?: "relevance"
): Promise<Corrections> => {
  const parameters = { query_by: "title,brand,category,attributes", ...(ranking === undefined ? {} : { ranking }) }
  const corrected = async (q: string): Promise<string | undefined> => {
    const { found, search } = await lab.ask({ ...parameters, q })
    const field = lab.collection.schema.fields.find(({ name }) => name === search.plan.text!.fields[0]!.field)!
    return correctedQuery(q, found.corrections ?? [], analyzerOf(lab.collection.schema, field))
  }
  const mistyped = { tried: 0, right: 0, wrong: [] as Array<string> },
    clean = { tried: 0, right: 0, wrong: [] as Array<string> }
  const made = generateQueries(products, {
    seed: 5,
    queries: 4 * queries,
    typoShare: 1,
    prefixShare: 0,
    filterShare: 0
  })
  for (const { hasTypo, meant, q } of made) {
    if (mistyped.tried === queries) break
    if (!hasTypo || q === meant) continue
    mistyped.tried++
    clean.tried++
    const own = await corrected(q)
    if (own === meant) mistyped.right++
    else mistyped.wrong.push(`${meant}: ${q} as ${own ?? "nothing"}`)
    const cleaned = await corrected(meant)
    if (cleaned === undefined) clean.right++
    else clean.wrong.push(`${meant} as ${cleaned}`)
  }
  return { mistyped, clean }
}

// ---- values --------------------------------------------------------------------------------------------------------

interface Naming {
  readonly q: string
  readonly values: ReadonlySet<string>
}
/** Filler words between values. */
const BETWEEN = ["for", "with", "cheap", "best", "new", "quality", "gift", "under", "sale"]
/** Values that each come from one document, in any order, with words between them that name nothing. */
export const namingQueries = (
  valuesOf: (random: Random) => ReadonlyArray<string>,
  queries: number
): ReadonlyArray<Naming> => {
  const random = makeRandom("entities")
  return Array.from({ length: queries }, () => {
    const values = valuesOf(random)
    const q = values.flatMap((value) => [value.toLowerCase(), random.pick(BETWEEN)]).join(" ")
    return { q, values: new Set(values) }
  })
}
export const productValues =
  (products: ReadonlyArray<Product>) =>
  (random: Random): ReadonlyArray<string> => {
    const { brand, category, color, department } = random.pick(products)
    const all = [brand, category, department, ...(color === undefined ? [] : [color])]
    const from = random.below(all.length)
    return [...all.slice(from), ...all.slice(0, from)].slice(0, 1 + random.below(3))
  }
/** Precision and recall of the named values. */
export const entityShares = async (
  lab: Lab,
  queries: ReadonlyArray<Naming>
): Promise<{ readonly precision: number; readonly recall: number; readonly wrong: ReadonlyArray<string> }> => {
  let named = 0,
    right = 0,
    meant = 0
  const wrong: Array<string> = []
  for (const { q, values } of queries) {
    const found = await lab.entities(q)
    const hits = found.filter(({ value }) => values.has(value))
    named += found.length
    right += hits.length
    meant += values.size
    if (hits.length < found.length)
      wrong.push(`${q}: ${found.map(({ field, value }) => `${field}=${value}`).join(", ")}`)
  }
  return { precision: right / named, recall: right / meant, wrong }
}
