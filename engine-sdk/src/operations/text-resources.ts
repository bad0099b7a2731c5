/** Presets, stopword sets and stemming dictionaries (`docs/contract/resources.md`). */
import { isLocale } from "../analysis/locale-analyzer.ts"
import { isObject } from "../documents/json.ts"
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import { stopwordTokens } from "../query/compiled-parts.ts"
import type { StopwordSet } from "../query/query-context.ts"
import {
  answer,
  COLLECTION_NOT_FOUND,
  parseBody,
  type OperationResult,
  type Body,
  type OperationContext,
  type QueryParameters
} from "./operation.ts"
import type { StemmingDictionary } from "./resources.ts"

const NO_PRESET = notFound("Not found.")

export const listPresets = (context: OperationContext): OperationResult =>
  answer(200, { presets: context.resources.list(context.namespace, "preset") })
export const getPreset = (context: OperationContext, name: string): OperationResult => {
  const preset = context.resources.get(context.namespace, "preset", name)
  return preset === undefined ? fail(NO_PRESET) : answer(200, preset)
}
/** The name in the path takes precedence; the parameters in the value are validated when the preset is used. */
export const upsertPreset = async (context: OperationContext, name: string, sent: Body): Promise<OperationResult> => {
  const body = parseBody(sent)
  if (!body.ok) return body
  if (!isObject(body.value)) return fail(invalid("Bad JSON."))
  if (body.value.value === undefined) return fail(invalid("Parameter `value` is required.", "value"))
  if (!isObject(body.value.value))
    return fail(invalid("Parameter `value` must be an object of search parameters.", "value"))
  const preset = { name, value: body.value.value }
  await context.resources.put(context.namespace, "preset", name, preset)
  return answer(200, preset)
}
export const deletePreset = async (context: OperationContext, name: string): Promise<OperationResult> => {
  const preset = context.resources.get(context.namespace, "preset", name)
  if (preset === undefined) return fail(NO_PRESET)
  await context.resources.remove(context.namespace, "preset", name)
  return answer(200, preset)
}

const stopwordMissing = (id: string): Result<never> => fail(notFound(`Stopword \`${id}\` not found.`))
/** The set as later reads show it: its tokens, not the entries as sent. */
const renderStopwords = (set: StopwordSet): Record<string, unknown> => ({
  id: set.id,
  ...(set.locale === undefined ? {} : { locale: set.locale }),
  stopwords: stopwordTokens(set)
})
export const listStopwords = (context: OperationContext): OperationResult =>
  answer(200, { stopwords: context.resources.list(context.namespace, "stopwords").map(renderStopwords) })
export const getStopwords = (context: OperationContext, id: string): OperationResult => {
  const set = context.resources.get(context.namespace, "stopwords", id)
  return set === undefined ? stopwordMissing(id) : answer(200, { stopwords: renderStopwords(set) })
}
export const upsertStopwords = async (context: OperationContext, id: string, sent: Body): Promise<OperationResult> => {
  const body = parseBody(sent)
  if (!body.ok) return body
  if (!isObject(body.value)) return fail(invalid("Bad JSON."))
  const { stopwords, locale } = body.value
  if (stopwords === undefined) return fail(invalid("Parameter `stopwords` is required", "stopwords"))
  if (!Array.isArray(stopwords))
    return fail(invalid("Parameter `stopwords` is required as string array value", "stopwords"))
  if (stopwords.length === 0) return fail(invalid("Parameter `stopwords` is empty", "stopwords"))
  if (!stopwords.every((entry) => typeof entry === "string"))
    return fail(invalid("Parameter `stopwords` is required as string array value", "stopwords"))
  if (locale !== undefined && typeof locale !== "string")
    return fail(invalid("Parameter `locale` is required as string value", "locale"))
  if (locale !== undefined && locale !== "" && locale !== "de_en" && !isLocale(locale))
    return fail(invalid("Parameter `locale` is no language tag", "locale"))
  const set: StopwordSet = { id, ...(locale === undefined ? {} : { locale }), stopwords: stopwords as string[] }
  await context.resources.put(context.namespace, "stopwords", id, set)
  return answer(200, { ...set })
}
export const deleteStopwords = async (context: OperationContext, id: string): Promise<OperationResult> => {
  if (context.resources.get(context.namespace, "stopwords", id) === undefined) return stopwordMissing(id)
  await context.resources.remove(context.namespace, "stopwords", id)
  return answer(200, { id })
}

const DICTIONARY_WORDS_MAX = 1_000_000
/** Imports JSON Lines of words and roots; a known word keeps its root. Returns the lines as received. */
export const importStemmingDictionary = async (
  context: OperationContext,
  text: string,
  parameters: QueryParameters
): Promise<OperationResult> => {
  const { id } = parameters
  if (id === undefined || id === "")
    return fail(invalid("Parameter `id` must be provided while importing dictionary words.", "id"))
  const lines = text.split("\n").filter((line) => line.trim() !== "")
  const words = new Map(context.resources.get(context.namespace, "stemming_dictionary", id)?.words ?? [])
  for (const line of lines) {
    const entry = parseBody(line)
    if (!entry.ok || !isObject(entry.value)) return fail(invalid("Invalid dictionary format."))
    const { word, root } = entry.value
    if (typeof word !== "string" || typeof root !== "string")
      return fail(invalid("dictionary lines should contain `word` and `root` values."))
    if (!words.has(word)) words.set(word, root)
    if (words.size > DICTIONARY_WORDS_MAX)
      return fail(invalid(`A stemming dictionary may hold ${DICTIONARY_WORDS_MAX} words.`))
  }
  const dictionary: StemmingDictionary = { id, words }
  await context.resources.put(context.namespace, "stemming_dictionary", id, dictionary)
  await context.engine.setDictionary?.(context.namespace, id, words)
  return ok({ status: 200, text: lines.join("\n") })
}
export const listStemmingDictionaries = (context: OperationContext): OperationResult =>
  answer(200, {
    dictionaries: context.resources.list(context.namespace, "stemming_dictionary").map((dictionary) => dictionary.id)
  })
export const getStemmingDictionary = (context: OperationContext, id: string): OperationResult => {
  const dictionary = context.resources.get(context.namespace, "stemming_dictionary", id)
  if (dictionary === undefined) return fail(COLLECTION_NOT_FOUND)
  const words = [...dictionary.words].sort(([a], [b]) => (a < b ? -1 : 1)).map(([word, root]) => ({ root, word }))
  return answer(200, { id, words })
}
/** Returns the id even if the dictionary did not exist. */
export const deleteStemmingDictionary = async (context: OperationContext, id: string): Promise<OperationResult> => {
  await context.resources.remove(context.namespace, "stemming_dictionary", id)
  await context.engine.setDictionary?.(context.namespace, id, undefined)
  return answer(200, { id })
}
