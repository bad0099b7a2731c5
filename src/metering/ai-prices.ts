/**
 * Prices of AI operations in one table: millionths of a credit for each started unit. The operator changes a price with
 * `--credit-prices semantic_search=0.2,…`, in credits; 0 makes an operation free.
 */
import { Context } from "effect"
import { MICRO } from "./plans.ts"

/** Price of a unit in millionths of a credit, and how many items make a unit; the operation defines the item. */
const entries = [
  /** Searches in words, interpreted by an organization's own model. */ ["nl_query", { micro: 500_000, unit: 1 }],
  /** Answers of assistants by an organization's own model. */ ["assistant_answer", { micro: 1_000_000, unit: 1 }],
  /** Answers of this program's own model, and answers for which no document was found. */
  ["assistant_extract", { micro: 100_000, unit: 1 }],
  /** Searches with an answer written by an organization's own model. */ ["conversation", { micro: 500_000, unit: 1 }],
  /** Searches answered by the documents' sentences. */ ["extractive_conversation", { micro: 100_000, unit: 1 }],
  ["semantic_search", { micro: 100_000, unit: 1 }],
  ["image_search", { micro: 100_000, unit: 1 }],
  /** Characters. */ ["embeddings", { micro: 50_000, unit: 1_000 }],
  ["image_upload", { micro: 100_000, unit: 1 }],
  /** Seconds of audio. */ ["voice", { micro: 500_000, unit: 15 }],
  /** Queries. */ ["synonym_suggestions", { micro: 1_000_000, unit: 1_000 }],
  /** Documents. */ ["graph", { micro: 1_000_000, unit: 1_000 }]
] as const
export type AiOperation = (typeof entries)[number][0]
const units: ReadonlyMap<AiOperation, number> = new Map(entries.map(([name, { unit }]) => [name, unit]))
const names = [...units.keys()]
/** Price of a unit in millionths of a credit, for every operation. */
export type AiPricesTable = ReadonlyMap<AiOperation, number>

const defaults: AiPricesTable = new Map(entries.map(([name, { micro }]) => [name, micro]))
/** The operator's changes to the defaults. */
export const AiPrices = Context.Reference<AiPricesTable>("dowser/metering/AiPrices", { defaultValue: () => defaults })

/** Millionths of a credit; `quantity` in the item of the operation (characters, documents, searches). */
export const priceOf = (prices: AiPricesTable, operation: AiOperation, quantity: number): number =>
  prices.get(operation)! * Math.ceil(quantity / units.get(operation)!)

const PRICE_MAX = 10_000
/** The prices, or a sentence that describes what is wrong with the text. */
export const parseAiPrices = (text: string): AiPricesTable | string => {
  const prices = new Map(defaults)
  const parts = text.split(",").map((part) => part.trim())
  for (const part of parts.filter((each) => each !== "")) {
    const [, name, credits] = /^([a-z_]+)\s*=\s*(\d+(?:\.\d{1,6})?)$/.exec(part) ?? []
    const operation = names.find((each) => each === name)
    if (operation === undefined || !(Number(credits) <= PRICE_MAX))
      return `\`${part}\` is not a price: write operation=credits, at most ${PRICE_MAX} with six decimals, of ${names.join(", ")}.`
    prices.set(operation, Math.round(Number(credits) * MICRO))
  }
  return prices
}
