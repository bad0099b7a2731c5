/** Synonym sets and their items (engine-contract 12.1). */
import { isObject } from "../documents/json.ts"
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { SynonymItem, SynonymSet } from "../query/query-context.ts"
import { answer, BAD_REQUEST, pageOf, parseBody, type Answered, type OperationContext, type QueryParameters } from "./operation.ts"

const MISSING = notFound("Synonym index not found")
const NO_ITEM = notFound("Could not find that `id`.")
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
  if (!synonyms.every((entry) => typeof entry === "string" && entry !== "")) return refuse("Could not find a valid string array of `synonyms`")
  if (raw.locale !== undefined && typeof raw.locale !== "string") return refuse("Synonym `locale` should be a string.")
  const symbols = raw.symbols_to_index
  if (symbols !== undefined && (!Array.isArray(symbols) || !symbols.every((symbol) => typeof symbol === "string"))) return refuse("Synonym `symbols_to_index` should be an array of strings.")
  if (Array.isArray(symbols) && !symbols.every((symbol: string) => symbol.length === 1)) return refuse("Synonym `symbols_to_index` should be an array of single character symbols.")
  return ok({
    id: name, ...(raw.locale === undefined || raw.locale === "" ? {} : { locale: raw.locale as string }), root,
    ...(Array.isArray(symbols) && symbols.length > 0 ? { symbols_to_index: symbols as string[] } : {}), synonyms: synonyms as string[],
  })
}
const byId = (a: { readonly id: string }, b: { readonly id: string }): number => a.id < b.id ? -1 : a.id > b.id ? 1 : 0
const setNamed = (context: OperationContext, name: string): SynonymSet | undefined => context.resources.get(context.namespace, "synonym_set", name)

export const listSynonymSets = (context: OperationContext): Answered => answer(200, context.resources.list(context.namespace, "synonym_set"))
export const getSynonymSet = (context: OperationContext, name: string): Answered => {
  const set = setNamed(context, name)
  return set === undefined ? fail(MISSING) : answer(200, set)
}
/** Replaces every item. */
export const upsertSynonymSet = async (context: OperationContext, name: string, text: string): Promise<Answered> => {
  const body = parseBody(text)
  if (!body.ok) return body
  if (!isObject(body.value)) return refuse("Bad JSON.")
  if (!Array.isArray(body.value.items)) return refuse("Missing or invalid 'items' field")
  const items: SynonymItem[] = []
  for (const raw of body.value.items as unknown[]) {
    const item = parseItem(raw)
    if (!item.ok) return item
    const known = items.findIndex((other) => other.id === item.value.id)
    if (known < 0) items.push(item.value)
    else items[known] = item.value
  }
  const set: SynonymSet = { items: items.sort(byId), name, ...(typeof body.value.description === "string" ? { description: body.value.description } : {}) }
  await context.resources.put(context.namespace, "synonym_set", name, set)
  return answer(200, set)
}
export const deleteSynonymSet = async (context: OperationContext, name: string): Promise<Answered> => {
  if (setNamed(context, name) === undefined) return fail(MISSING)
  await context.resources.remove(context.namespace, "synonym_set", name)
  return answer(200, { name })
}
export const listSynonymItems = (context: OperationContext, name: string, parameters: QueryParameters): Answered => {
  const set = setNamed(context, name)
  if (set === undefined) return fail(MISSING)
  const page = pageOf(set.items, parameters)
  return page.ok ? answer(200, page.value) : page
}
export const getSynonymItem = (context: OperationContext, name: string, id: string): Answered => {
  const set = setNamed(context, name)
  if (set === undefined) return fail(MISSING)
  const item = set.items.find((candidate) => candidate.id === id)
  return item === undefined ? fail(notFound("Not Found")) : answer(200, item)
}
/** Answers the body as sent, with the id of the path. */
export const upsertSynonymItem = async (context: OperationContext, name: string, id: string, text: string): Promise<Answered> => {
  const set = setNamed(context, name)
  if (set === undefined) return fail(MISSING)
  const body = parseBody(text)
  if (!body.ok) return body
  const item = parseItem(body.value, id)
  if (!item.ok) return item
  await context.resources.put(context.namespace, "synonym_set", name, { ...set, items: [...set.items.filter((other) => other.id !== id), item.value].sort(byId) })
  return answer(200, { ...(body.value as Record<string, unknown>), id })
}
export const deleteSynonymItem = async (context: OperationContext, name: string, id: string): Promise<Answered> => {
  const set = setNamed(context, name)
  if (set === undefined) return fail(MISSING)
  if (!set.items.some((item) => item.id === id)) return fail(NO_ITEM)
  await context.resources.put(context.namespace, "synonym_set", name, { ...set, items: set.items.filter((item) => item.id !== id) })
  return answer(200, { id })
}
