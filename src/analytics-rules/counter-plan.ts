/**
 * The decision for one counted document. An increment must reach the document exactly once, although the count is
 * stored elsewhere: so the field's current and intended values are stored first, and after a crash the field itself
 * shows whether the write had happened. Pure.
 *
 *   no intent                     intend: before = the field, after = before + what is missing
 *   intent, field = after         the write had happened: settled
 *   intent, field = before        it had not: write
 *   intent, field is otherwise    its owner has written the field since: settled, and the owner's value is kept
 *   no document                   settled: unknown documents are skipped
 */
import type { Counter } from "./rules-repository.ts"

type CounterStep =
  | { readonly kind: "intend"; readonly before: number; readonly after: number; readonly intended: number }
  | { readonly kind: "write"; readonly after: number; readonly intended: number }
  | { readonly kind: "settle"; readonly applied: number }

/** `value` is the field's value, 0 if the document lacks it; undefined if there is no document. */
export const counterStep = (
  { after, applied, before, counted, intended }: Counter,
  value: number | undefined,
  weight: number
): CounterStep => {
  if (value === undefined) return { kind: "settle", applied: counted }
  if (intended === null || after === null)
    return { kind: "intend", before: value, after: value + (counted - applied) * weight, intended: counted }
  return value === before && value !== after
    ? { kind: "write", after, intended }
    : { kind: "settle", applied: intended }
}
