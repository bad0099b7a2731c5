/**
 * Named sets of items, with the same routes for synonyms and curations (`docs/contract/curation.md#sets`): these differ
 * only in the item and in the message for a missing set. Items are stored and evaluated in the order of their ids.
 */
import { isObject } from "../documents/json.ts"
import { fail, invalid, notFound, type Result } from "../errors.ts"
import {
  answer,
  pageOf,
  parseBody,
  type OperationResult,
  type Body,
  type OperationContext,
  type QueryParameters
} from "./operation.ts"
import type { ResourceKinds } from "./resources.ts"

type SetKind = "synonym_set" | "curation_set"
type ItemOf<K extends SetKind> = ResourceKinds[K]["items"][number]

export interface NamedSetOperations {
  readonly list: (context: OperationContext) => OperationResult
  readonly get: (context: OperationContext, name: string) => OperationResult
  /** Replaces all items; if two items have the same id, the later one is kept. */ readonly upsert: (
    context: OperationContext,
    name: string,
    body: Body
  ) => Promise<OperationResult>
  readonly delete: (context: OperationContext, name: string) => Promise<OperationResult>
  readonly listItems: (context: OperationContext, name: string, parameters: QueryParameters) => OperationResult
  readonly getItem: (context: OperationContext, name: string, id: string) => OperationResult
  /** Returns the body as sent, with the id of the path. */ readonly upsertItem: (
    context: OperationContext,
    name: string,
    id: string,
    body: Body
  ) => Promise<OperationResult>
  readonly deleteItem: (context: OperationContext, name: string, id: string) => Promise<OperationResult>
}

const refuse = (message: string): Result<never> => fail(invalid(message))
const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
  a.id < b.id ? -1 : a.id > b.id ? 1 : 0

/** `parseItem`: reads an item of a set's body, or an item body when the path gives the id. */
export const namedSets = <K extends SetKind>(
  kind: K,
  missingText: string,
  parseItem: (raw: unknown, id?: string) => Result<ItemOf<K>>
): NamedSetOperations => {
  type Set = { readonly name: string; readonly items: ReadonlyArray<ItemOf<K>>; readonly description?: string }
  const missing = notFound(missingText)
  const setNamed = (context: OperationContext, name: string): Set | undefined =>
    context.resources.get(context.namespace, kind, name) as Set | undefined
  const put = (context: OperationContext, set: Set): Promise<void> =>
    context.resources.put(context.namespace, kind, set.name, set as unknown as ResourceKinds[K])
  /** False if the set does not exist, or if `change` returns undefined. */
  const change = async (
    context: OperationContext,
    name: string,
    change: (set: Set) => Set | undefined
  ): Promise<boolean> =>
    (await context.resources.change(context.namespace, kind, name, (set) =>
      set === undefined ? undefined : (change(set as unknown as Set) as unknown as ResourceKinds[K] | undefined)
    )) !== undefined
  const inSet = <A>(context: OperationContext, name: string, run: (set: Set) => A): A | OperationResult => {
    const set = setNamed(context, name)
    return set === undefined ? fail(missing) : run(set)
  }
  return {
    list: (context) => answer(200, context.resources.list(context.namespace, kind)),
    get: (context, name) => inSet(context, name, (set) => answer(200, set)),
    upsert: async (context, name, sent) => {
      const body = parseBody(sent)
      if (!body.ok) return body
      if (!isObject(body.value)) return refuse("Bad JSON.")
      if (!Array.isArray(body.value.items)) return refuse("Missing or invalid 'items' field")
      const items = new Map<string, ItemOf<K>>()
      for (const raw of body.value.items as unknown[]) {
        const item = parseItem(raw)
        if (!item.ok) return item
        items.set(item.value.id, item.value)
      }
      const set: Set = {
        items: [...items.values()].sort(byId),
        name,
        ...(typeof body.value.description === "string" ? { description: body.value.description } : {})
      }
      await put(context, set)
      return answer(200, set)
    },
    delete: async (context, name) =>
      inSet(context, name, async () => {
        await context.resources.remove(context.namespace, kind, name)
        return answer(200, { name })
      }),
    listItems: (context, name, parameters) =>
      inSet(context, name, (set) => {
        const page = pageOf(set.items, parameters)
        return page.ok ? answer(200, page.value) : page
      }),
    getItem: (context, name, id) =>
      inSet(context, name, (set) => {
        const item = set.items.find((candidate) => candidate.id === id)
        return item === undefined ? fail(notFound("Not Found")) : answer(200, item)
      }),
    upsertItem: async (context, name, id, sent) =>
      inSet(context, name, async () => {
        const body = parseBody(sent)
        if (!body.ok) return body
        const item = parseItem(body.value, id)
        if (!item.ok) return item
        const isThere = await change(context, name, (set) => ({
          ...set,
          items: [...set.items.filter((other) => other.id !== id), item.value].sort(byId)
        }))
        return isThere ? answer(200, { ...(body.value as Record<string, unknown>), id }) : fail(missing)
      }),
    deleteItem: async (context, name, id) =>
      inSet(context, name, async () => {
        const wasThere = await change(context, name, (set) =>
          set.items.some((item) => item.id === id)
            ? { ...set, items: set.items.filter((item) => item.id !== id) }
            : undefined
        )
        return wasThere ? answer(200, { id }) : fail(notFound("Could not find that `id`."))
      })
  }
}
