/**
 * The documents, schema and queries of a bench: any files in the formats of the README, or generated ones of any size.
 */
import { readFileSync } from "node:fs"
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { type GeneratedQuery, generateQueries } from "../../fixtures/queries/generate.ts"
import { readLines } from "../harness/harness.ts"
import { catalogueInputs } from "./catalogues.ts"
import { Texts } from "./texts.ts"

export interface InputOptions {
  readonly docs: string | undefined
  readonly schema: string | undefined
  readonly queries: string | undefined
  readonly warm: string | undefined
  /** Number to generate when no files are named. */ readonly products: number
  readonly queryCount: number
  readonly seed: number
  /** Adds function words to the texts and to a third of the queries, and searches descriptions as well. */
  readonly realWords?: boolean
  /** One of `catalogues.ts` instead of generated documents. */ readonly catalogue?: string | undefined
}
export interface Inputs {
  readonly schema: { readonly name: string } & Record<string, unknown>
  /** JSON texts. */ readonly documents: Texts
  readonly queries: ReadonlyArray<Record<string, unknown>>
  readonly warm: ReadonlyArray<Record<string, unknown>>
  /** Which queries contain a typo, where that is known. */ readonly mistyped?: ReadonlyArray<boolean>
  /** The class of each query, if there are several; the figures of each class are reported separately. */
  readonly classes?: ReadonlyArray<string>
  /** A search for a word that most documents contain. */ readonly common?: Record<string, unknown>
}

const parseQueries = async (file: string) =>
  (await readLines(file)).map((line) => JSON.parse(line) as Record<string, unknown>)

export const loadInputs = async (options: InputOptions): Promise<Inputs> => {
  if (options.docs !== undefined) {
    if (options.schema === undefined || options.queries === undefined)
      throw new Error("--docs needs --schema and --queries beside it.")
    return {
      schema: JSON.parse(readFileSync(options.schema, "utf8")) as Inputs["schema"],
      documents: Texts.of(await readLines(options.docs)),
      queries: await parseQueries(options.queries),
      warm: options.warm === undefined ? [] : await parseQueries(options.warm)
    }
  }
  if (options.catalogue !== undefined) return catalogueInputs(options.catalogue, options)
  return generatedInputs(options)
}

const FUNCTION_WORD_SHARE = 1 / 3
const WARM_MAX = 2_000
const generatedInputs = ({ products: size, queryCount, realWords = false, seed }: InputOptions): Inputs => {
  const products = [...generateCatalog({ seed, products: size, prose: realWords })]
  const functionWordShare = realWords ? FUNCTION_WORD_SHARE : 0
  const measured = [...generateQueries(products, { seed, queries: queryCount, functionWordShare })]
  const warm = [
    ...generateQueries(products, { seed: seed + 1, queries: Math.min(queryCount, WARM_MAX), functionWordShare })
  ]
  const asked = {
    query_by: realWords ? "title,brand,category,attributes,description" : "title,brand,category,attributes",
    facet_by: "brand,category",
    per_page: 10
  }
  const parameters = (generated: ReadonlyArray<GeneratedQuery>) =>
    generated.map((each) => ({
      q: each.q,
      ...asked,
      ...(each.filter_by === undefined ? {} : { filter_by: each.filter_by })
    }))
  return {
    schema: productSchema("products"),
    documents: Texts.of(
      (function* () {
        for (const product of products) yield JSON.stringify(product)
      })()
    ),
    queries: parameters(measured),
    warm: parameters(warm),
    mistyped: measured.map(({ hasTypo }) => hasTypo),
    ...(realWords
      ? {
          classes: measured.map((each) =>
            each.hasFunctionWord === true ? "with function words" : "without function words"
          ),
          common: { q: "to", ...asked }
        }
      : {})
  }
}
