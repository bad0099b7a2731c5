/** Constraints as text of a filter or a sort; values are quoted, whatever they contain. Pure. */
import type { NamedValue, NumberField, TextField } from "./facts.ts"
import type { Operator } from "./words.ts"

export type Constraint =
  | {
      readonly kind: "number"
      readonly field: NumberField
      readonly operator: Operator
      readonly values: ReadonlyArray<number>
    }
  | { readonly kind: "flag"; readonly field: TextField; readonly value: boolean }
  | {
      readonly kind: "values"
      readonly field: TextField
      readonly values: ReadonlyArray<NamedValue["value"]>
      readonly isNot: boolean
    }

/** The tolerance of "around". */
const AROUND = 0.1
/** Larger numbers are written with an exponent, and cannot describe goods. */
const NUMBER_MAX = 1e15
const INT32_MAX = 2_147_483_647

/** Undefined for numbers that no field can have. */
export const filterText = (constraint: Constraint): string | undefined => {
  switch (constraint.kind) {
    case "flag":
      return `${constraint.field.name}:${constraint.value}`
    case "values": {
      const values = constraint.values.map((value) => `\`${value}\``)
      const operator = constraint.isNot ? "!=" : "="
      return `${constraint.field.name}:${operator}${values.length === 1 ? values[0] : `[${values.join(", ")}]`}`
    }
    case "number":
      return numbersText(constraint.field, constraint.operator, constraint.values)
  }
}
/** Drops the last digits, which floating-point arithmetic leaves. */
const plain = (value: number): number => Number(value.toPrecision(12))
const numbersText = (field: NumberField, operator: Operator, given: ReadonlyArray<number>): string | undefined => {
  const values = given.map(plain)
  if (values.some((value) => !(Math.abs(value) < (field.isWhole ? INT32_MAX : NUMBER_MAX)))) return undefined
  const [first = 0, second = first] = values
  const down = (value: number) => (field.isWhole ? Math.floor(value) : plain(value))
  const up = (value: number) => (field.isWhole ? Math.ceil(value) : plain(value))
  const { name } = field
  switch (operator) {
    case "between":
      return `${name}:[${up(Math.min(first, second))}..${down(Math.max(first, second))}]`
    case "around":
      return `${name}:[${up(first * (1 - AROUND))}..${down(first * (1 + AROUND))}]`
    case "<":
    case ">=":
      return `${name}:${operator}${up(first)}`
    case ">":
    case "<=":
      return `${name}:${operator}${down(first)}`
    case "=":
      return field.isWhole && !Number.isInteger(first) ? undefined : `${name}:${first}`
  }
}
