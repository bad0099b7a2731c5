/** Synonym sets and their items (`docs/contract/synonyms.md#sets`). */
import { isLocale } from "../analysis/locale-analyzer.ts"
import { isObject } from "../documents/json.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { SynonymItem } from "../query/query-context.ts"
import { namedSets } from "./named-sets.ts"
import { BAD_REQUEST } from "./operation.ts"

const refuse = (message: string): Result<never> => fail(invalid(message))

const parseItem = (raw: unknown, id?: string): Result<SynonymItem> => {
  if (!isObject(raw)) return refuse(BAD_REQUEST)
  const name = id ?? raw.id
  if (name === undefined) return refuse("Missing `id` field.")
  if (typeof name !== "string") return refuse(BAD_REQUEST)
  const root = raw.root ?? ""
  if (typeof root !== "string") return refuse("Key `root` should be a string.")
  const { synonyms } = raw
  if (!Array.isArray(synonyms) || synonyms.length === 0) return refuse("Could not find an array of `synonyms`")
  if (!synonyms.every((entry) => typeof entry === "string" && entry !== ""))
    return refuse("Could not find a valid string array of `synonyms`")
  if (raw.locale !== undefined && typeof raw.locale !== "string") return refuse("Synonym `locale` should be a string.")
  if (typeof raw.locale === "string" && raw.locale !== "" && raw.locale !== "de_en" && !isLocale(raw.locale))
    return refuse("Synonym `locale` is no language tag.")
  const symbols = raw.symbols_to_index
  if (symbols !== undefined && (!Array.isArray(symbols) || !symbols.every((symbol) => typeof symbol === "string")))
    return refuse("Synonym `symbols_to_index` should be an array of strings.")
  if (Array.isArray(symbols) && !symbols.every((symbol: string) => symbol.length === 1))
    return refuse("Synonym `symbols_to_index` should be an array of single character symbols.")
  return ok({
    id: name,
    ...(raw.locale === undefined || raw.locale === "" ? {} : { locale: raw.locale as string }),
    root,
    ...(Array.isArray(symbols) && symbols.length > 0 ? { symbols_to_index: symbols as string[] } : {}),
    synonyms: synonyms as string[]
  })
}
export const synonymSets = namedSets("synonym_set", "Synonym index not found", parseItem)
