/**
 * Paths into a payload: names joined by dots, `[2]` for one element of a list, `[]` for every element, `[name=value]`
 * for the elements with that text, `["a.b"]` for a name with a dot or a bracket. Names are keys of untrusted input,
 * so only own properties are read. Pure.
 */
const PATH_CHARACTERS_MAX = 512
const STEPS_MAX = 16
const INDEX_MAX = 9_999

type Step =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "every" }
  | { readonly kind: "where"; readonly name: string; readonly value: string }
export type Path = ReadonlyArray<Step>

const STEP = /(?:^|\.)([^.[\]"]+)|\[(\d{1,4})\]|(\[\])|\[([^.[\]"=]+)=([^[\]"]*)\]|\["((?:[^"\\]|\\.)*)"\]/y
const stepOf = ([, name, index, every, key, value, quoted]: RegExpExecArray): Step => {
  if (name !== undefined) return { kind: "name", name }
  if (index !== undefined) return { kind: "index", index: Number(index) }
  if (every !== undefined) return { kind: "every" }
  if (key !== undefined) return { kind: "where", name: key, value: value! }
  return { kind: "name", name: quoted!.replaceAll(/\\(.)/g, "$1") }
}
/** Returns an error message if the text is not a path. */
export const pathOf = (text: string): Path | string => {
  if (text === "") return "a path has at least one name"
  if (text.length > PATH_CHARACTERS_MAX) return `a path has at most ${PATH_CHARACTERS_MAX} characters`
  const steps: Array<Step> = []
  STEP.lastIndex = 0
  while (STEP.lastIndex < text.length) {
    const at = STEP.lastIndex
    const match = STEP.exec(text)
    if (match === null) return `\`${text.slice(at, at + 40)}\` is no part of a path`
    steps.push(stepOf(match))
    if (steps.length > STEPS_MAX) return `a path has at most ${STEPS_MAX} parts`
  }
  return steps
}

/** How many values a mapping may visit per event: as many as a payload of a megabyte contains. */
export const LOOKS_MAX = 100_000
export class Looks {
  #left: number
  constructor(most = LOOKS_MAX) {
    this.#left = most
  }
  /** Returns false at the limit; the mapping then stops and reports it. */
  take(): boolean {
    return --this.#left >= 0
  }
  get isOver(): boolean {
    return this.#left < 0
  }
}

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const ownOf = (value: unknown, name: string): unknown =>
  isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined
const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : undefined

/** All values at the path, in order; missing values and `null` are skipped. */
export const valuesAt = (payload: unknown, path: Path, looks: Looks): ReadonlyArray<unknown> => {
  let found: ReadonlyArray<unknown> = [payload]
  for (const step of path) {
    const next: Array<unknown> = []
    for (const value of found) {
      if (!looks.take()) return []
      if (step.kind === "name") next.push(ownOf(value, step.name))
      else if (Array.isArray(value))
        if (step.kind === "index") next.push(step.index <= INDEX_MAX ? value[step.index] : undefined)
        else
          for (const element of value as ReadonlyArray<unknown>) {
            if (!looks.take()) return []
            if (step.kind === "every" || textOf(ownOf(element, step.name)) === step.value) next.push(element)
          }
    }
    found = next.filter((value) => value !== undefined && value !== null)
  }
  return found
}
/** Whether the path selects all values instead of the first. */
export const isMany = (path: Path): boolean => path.some(({ kind }) => kind === "every")
