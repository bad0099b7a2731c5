/** Finds the object in a stored document that holds a value; `return_parent` shows it with the value. */
import { ownValue } from "../../documents/own-value.ts"
import { floatText } from "../../index/value-builder.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { SearchPlan } from "../../plan.ts"
import { spend } from "../../budget/cutoff.ts"
import type { Counted } from "./facet-rows.ts"

export const parentOf = (
  reader: CollectionReader,
  plan: SearchPlan,
  field: string,
  value: string,
  entry: Counted
): { parent?: unknown } => {
  const text = reader.documents.text(entry.view.segment.seqs[entry.doc])
  if (text === undefined || spend(text.length)) return {}
  plan.budget?.hold(text.length, "facets")
  const path = field.split(".")
  const parents: unknown[] = []
  const walk = (at: unknown, depth: number): void => {
    if (Array.isArray(at)) {
      for (const element of at) walk(element, depth)
      return
    }
    if (typeof at !== "object" || at === null) return
    const record = at as Record<string, unknown>
    if (depth === path.length - 1) {
      const own = ownValue(record, path[depth])
      const values = Array.isArray(own) ? own : [own]
      if (
        values.some((one) => (typeof one === "number" ? [String(one), floatText(one)] : [String(one)]).includes(value))
      )
        parents.push(at)
      return
    }
    walk(ownValue(record, path[depth]), depth + 1)
  }
  walk(JSON.parse(text), 0)
  return parents.length > 0 ? { parent: parents[0] } : {}
}
