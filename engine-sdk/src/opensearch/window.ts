/**
 * Documents that the cluster found, as a small index in memory, so that scores, order, highlights, pins, groups,
 * diversity and what is shown come from the same code as in any other search. The cost is that of indexing the fields
 * that a plan reads, for a few hundred documents at most.
 */
import type { Dictionaries } from "../analysis/tokens.ts"
import { flatten } from "../documents/mod.ts"
import { SegmentBuilder } from "../index/builders.ts"
import { CollectionReader } from "../index/reader.ts"
import { allocatePlain } from "../index/sections.ts"
import type { SearchPlan, SortKey } from "../plan.ts"
import type { Filter } from "../filter.ts"
import type { CollectionSchema } from "../schema.ts"
import { documentOf, type StoredForm } from "./stored-form.ts"

/** A reader over the documents, each once. O(texts of the fields that plans read). */
export const windowReader = (
  schema: CollectionSchema,
  found: ReadonlyArray<StoredForm>,
  plans: ReadonlyArray<SearchPlan>,
  dictionaries: Dictionaries
): CollectionReader => {
  const looked = lookedAt(schema, plans)
  const fields = schema.fields.filter(({ name }) => looked.has(name))
  const own = { ...schema, fields }
  const texts = new Map<number, string>()
  const builder = new SegmentBuilder(own, dictionaries)
  for (const stored of found) {
    if (texts.has(stored.seq)) continue
    const document = documentOf(stored)
    texts.set(stored.seq, stored.d)
    builder.add(stored.seq, String(document.id), flatten(own, document))
  }
  const reader = new CollectionReader(schema, { text: (seq) => texts.get(seq) })
  const { meta, region } = builder.finish(allocatePlain)
  reader.apply({ added: [{ id: 1, meta, region }], removed: [], deletions: [] })
  return reader
}

const lookedAt = (schema: CollectionSchema, plans: ReadonlyArray<SearchPlan>): ReadonlySet<string> => {
  const looked = new Set([schema.default_sorting_field])
  const add = (names: Iterable<string>): void => {
    for (const name of names) looked.add(name)
  }
  for (const plan of plans) {
    add(plan.text?.fields.map(({ field }) => field) ?? [])
    add(plan.highlight.fields)
    add(plan.group?.fields ?? [])
    add(plan.window?.fields ?? [])
    if (plan.vector !== undefined) looked.add(plan.vector.field)
    add(plan.diversity?.metrics.map(({ field }) => field) ?? [])
    add(plan.facets.flatMap(({ field, order }) => (order.kind === "field" ? [field, order.field] : [field])))
    for (const filter of [plan.filter, plan.pinnedFilter, plan.injectedFilter]) add(fieldsOf(filter))
    for (const { target } of plan.injected ?? []) if ("filter" in target) add(fieldsOf(target.filter))
    for (const key of plan.sort) add(sortedBy(key))
  }
  return looked
}
const sortedBy = (key: SortKey): ReadonlyArray<string> =>
  key.kind === "eval" || key.kind === "boosts"
    ? key.cases.flatMap(({ filter }) => fieldsOf(filter))
    : key.kind === "vector_query"
      ? [key.query.field]
      : key.kind === "field" || key.kind === "geo"
        ? [key.field]
        : []
const fieldsOf = (filter: Filter | undefined): string[] => {
  if (filter === undefined) return []
  switch (filter.kind) {
    case "and":
    case "or":
      return [...fieldsOf(filter.left), ...fieldsOf(filter.right)]
    case "not":
    case "element":
      return fieldsOf(filter.filter)
    case "string":
    case "number":
    case "bool":
    case "geo":
    case "geo_contains":
      return [filter.field]
    default:
      return []
  }
}
