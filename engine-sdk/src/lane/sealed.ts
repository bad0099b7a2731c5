/**
 * Values in the form in which they are sent to another thread. If JSON represents a value fully, it is sent as JSON
 * text, because one runtime (Deno 2.9) takes 100 to 200 microseconds to copy the objects of a plan or an answer, and 15
 * to 30 to write and parse their text. Otherwise it is sent unchanged (64-bit integers, infinities, maps, vectors).
 */
/** A value as JSON text, or itself. */
export interface Sealed<A> {
  readonly text?: string
  readonly value?: A
}

/** Members that are undefined may be dropped, because readers treat them like absent ones. */
const isPlain = (value: unknown): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      break
    default:
      return false
  }
  if (value === null) return true
  if (Array.isArray(value)) {
    for (const item of value) if (item === undefined || !isPlain(item)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const item of Object.values(value)) if (!isPlain(item)) return false
  return true
}
/** O(size of the value). */
export const sealed = <A>(value: A): Sealed<A> => (isPlain(value) ? { text: JSON.stringify(value) } : { value })
export const unsealed = <A>({ text, value }: Sealed<A>): A =>
  text === undefined ? (value as A) : (JSON.parse(text) as A)

/** Joins two texts in one, the cheapest kind of message. `rest` may be long, and is not scanned. */
export const joined = (text: string, rest: string): string => `${text.length}\n${text}${rest}`
export const parted = (whole: string): { readonly text: string; readonly rest: string } => {
  const from = whole.indexOf("\n") + 1,
    to = from + Number(whole.slice(0, from - 1))
  return { text: whole.slice(from, to), rest: whole.slice(to) }
}
