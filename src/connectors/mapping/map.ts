/** Applies a mapping to a payload. Pure; failures are reported per field. */
import { isMany, Looks, LOOKS_MAX, type Path, pathOf, valuesAt } from "./path.ts"
import { numberIn } from "../../texts/number-in.ts"
import { plainText } from "../../texts/plain-text.ts"
import type { Mapping, Source } from "./source.ts"

interface Problem {
  readonly field: string
  readonly message: string
}
export type Mapped =
  | { readonly ok: true; readonly document: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problems: ReadonlyArray<Problem> }
type Maker = (payload: unknown, looks: Looks) => unknown
/** Thrown for a value that exists but has the wrong form. */
class Unfit extends Error {}

const TRUE = new Set(["true", "1", "yes", "y", "on"])
const shown = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`
}
const asNumber = (value: unknown): number | undefined => {
  if (value === undefined || value === "") return undefined
  if (typeof value === "number") return value
  const number = typeof value === "string" ? numberIn(value) : undefined
  if (number === undefined) throw new Unfit(`\`${shown(value)}\` is no number`)
  return number
}
const asText = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (typeof value === "string") return value
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  throw new Unfit(`\`${shown(value)}\` is no text`)
}
const asFlag = (value: unknown, trueWhen: ReadonlySet<string>): boolean | undefined =>
  value === undefined ? undefined : typeof value === "boolean" ? value : trueWhen.has(asText(value)!.toLowerCase())
const listOf = (value: unknown): ReadonlyArray<unknown> =>
  value === undefined ? [] : Array.isArray(value) ? (value as ReadonlyArray<unknown>) : [value]
const isNothing = (value: unknown): boolean =>
  value === undefined || value === "" || (Array.isArray(value) && value.length === 0)

const checkedPath = (text: string): Path => {
  const path = pathOf(text)
  // The path was validated when the mapping was written.
  if (typeof path === "string") throw new Error(path)
  return path
}
const atPath = (path: Path): Maker => {
  const many = isMany(path)
  return (payload, looks) => {
    const values = valuesAt(payload, path, looks)
    return values.length === 0 ? undefined : many ? values : values[0]
  }
}
const pairsOf = (pairs: Path, name: Path, value: Path): Maker => {
  const named = atPath(name),
    valued = atPath(value)
  return (payload, looks) => {
    const made = new Map<string, unknown>()
    for (const pair of valuesAt(payload, pairs, looks).flatMap(listOf)) {
      const key = asText(named(pair, looks))
      const own = valued(pair, looks)
      if (key !== undefined && key !== "" && !isNothing(own)) made.set(key, own)
    }
    return made.size === 0 ? undefined : Object.fromEntries(made)
  }
}
const makerOf = (source: Source): Maker => {
  if (typeof source === "string") return atPath(checkedPath(source))
  if ("constant" in source) return () => source.constant
  if ("pairs" in source) return pairsOf(checkedPath(source.pairs), checkedPath(source.name), checkedPath(source.value))
  if ("first_of" in source) {
    const makers = source.first_of.map(makerOf)
    return (payload, looks) => {
      for (const maker of makers) {
        const value = maker(payload, looks)
        if (!isNothing(value)) return value
      }
      return undefined
    }
  }
  if ("join" in source) {
    const makers = source.join.map(makerOf)
    return (payload, looks) => {
      const parts = makers
        .flatMap((maker) => listOf(maker(payload, looks)).map(asText))
        .filter((part) => !isNothing(part))
      return parts.length === 0 ? undefined : parts.join(source.with ?? " ")
    }
  }
  if ("number" in source) return each(makerOf(source.number), asNumber)
  if ("text" in source)
    return each(makerOf(source.text), (value) => {
      const text = asText(value)
      return text === undefined ? undefined : plainText(text)
    })
  if ("flag" in source) {
    const trueWhen = source.true_when === undefined ? TRUE : new Set(source.true_when.map((text) => text.toLowerCase()))
    return each(makerOf(source.flag), (value) => asFlag(value, trueWhen))
  }
  if ("positive" in source) {
    const number = each(makerOf(source.positive), asNumber)
    return (payload, looks) => {
      const [value] = listOf(number(payload, looks))
      return value === undefined ? undefined : Number(value) > 0
    }
  }
  const maker = makerOf(source.list),
    { split } = source
  return (payload, looks) => {
    const values = listOf(maker(payload, looks)).flatMap((value) =>
      split === undefined || typeof value !== "string" ? [value] : value.split(split).map((part) => part.trim())
    )
    const list = values.filter((value) => !isNothing(value))
    return list.length === 0 ? undefined : list
  }
}
/** Applies `make` to each of several values, or to the single one. */
const each =
  (maker: Maker, make: (value: unknown) => unknown): Maker =>
  (payload, looks) => {
    const value = maker(payload, looks)
    if (!Array.isArray(value)) return make(value)
    const made = (value as ReadonlyArray<unknown>).map(make).filter((one) => one !== undefined)
    return made.length === 0 ? undefined : made
  }

/** Compiles a mapping once for many events. */
export const compileMapping = (mapping: Mapping): ((payload: unknown) => Mapped) => {
  const makers = Object.entries(mapping).map(([field, source]) => [field, makerOf(source)] as const)
  return (payload) => {
    const looks = new Looks()
    const problems: Array<Problem> = []
    const values: Array<readonly [string, unknown]> = []
    for (const [field, maker] of makers) {
      try {
        const value = maker(payload, looks)
        if (!isNothing(value)) values.push([field, value])
      } catch (error) {
        if (!(error instanceof Unfit)) throw error
        problems.push({ field, message: error.message })
      }
      if (looks.isOver)
        return {
          ok: false,
          problems: [{ field, message: `the event makes the mapping look at more than ${LOOKS_MAX} values` }]
        }
    }
    // `fromEntries` makes every name an own property, even a freely chosen one.
    return problems.length > 0 ? { ok: false, problems } : { ok: true, document: Object.fromEntries(values) }
  }
}
