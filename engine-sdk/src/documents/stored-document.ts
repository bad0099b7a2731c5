/**
 * A stored document as a hit shows it. Its JSON text is sent unchanged and highlighting reads single fields from it, so
 * most documents of a page are never parsed; the value is parsed once, when it is requested.
 */
import { BoundedMap } from "../bounded-map.ts"
import type { Document } from "../schema.ts"
import { parseJson } from "./json.ts"
import { ownValue } from "./own-value.ts"

export class StoredDocument {
  readonly #text: string
  #value: Document | undefined
  constructor(text: string) {
    this.#text = text
  }
  /** The JSON text, until the value has been handed out, because a caller might modify it. */
  get text(): string | undefined {
    return this.#value === undefined ? this.#text : undefined
  }
  get value(): Document {
    return (this.#value ??= parseJson(this.#text) as Document)
  }
  set value(value: Document) {
    this.#value = value
  }
  /** Values of top-level fields, undefined for fields that the document lacks. */
  pick(names: ReadonlyArray<string>): ReadonlyArray<unknown> {
    const known = this.#value
    if (known === undefined) {
      const picked = pickFields(this.#text, names)
      if (picked !== undefined) return picked
    }
    const value = known ?? (parseJson(this.#text) as Document)
    return names.map((name) => ownValue(value, name))
  }
}

const QUOTE = 34,
  COMMA = 44,
  OPEN_LIST = 91,
  BACKSLASH = 92,
  CLOSE_LIST = 93,
  OPEN = 123,
  CLOSE = 125

/**
 * Values of top-level keys of valid JSON object text. undefined if the text needs the full parser (an escaped key).
 * Keys are unique, because documents are stored that way. If there are no nested objects and no spaces between tokens,
 * as in most stored texts, each key is found by one native search. Otherwise one pass skips what is not requested,
 * strings by a native search for their end: about one step per key and per character of nested values.
 */
export const pickFields = (text: string, names: ReadonlyArray<string>): Array<unknown> | undefined => {
  const hasEscapes = text.includes("\\")
  return (hasEscapes ? undefined : pickFlat(text, names)) ?? pickWalking(text, names, hasEscapes)
}
/**
 * Without escapes, a quotation mark in the text starts or ends a string, so `,"name":` can only be a key, and without a
 * further `{` it is a key of the document itself. undefined if a name is not found this way: it may be missing, or
 * follow a space.
 */
const pickFlat = (text: string, names: ReadonlyArray<string>): Array<unknown> | undefined => {
  if (text.charCodeAt(0) !== OPEN || text.includes("{", 1)) return undefined
  const values = new Array<unknown>(names.length)
  for (let n = 0; n < names.length; n++) {
    const key = keyOf(names[n])
    if (key === undefined) return undefined
    let start = text.indexOf(key)
    if (start >= 0) start += key.length
    else if (text.startsWith(key.slice(1), 1)) start = key.length
    else return undefined
    if (text.charCodeAt(start) <= 32) return undefined
    values[n] = valueOf(text, start, endOfValue(text, start, false))
  }
  return values
}
const keys = new BoundedMap<string, string | null>({
  bytes_max: 1_000_000,
  bytesOf: (name, key) => 2 * (name.length + (key?.length ?? 0))
})
/** `,"name":` as a flat string that is created once; undefined if a name is never written like that. */
const keyOf = (name: string): string | undefined => {
  const known = keys.get(name)
  if (known !== undefined) return known ?? undefined
  const key = JSON.stringify(name) === `"${name}"` ? [',"', name, '":'].join("") : undefined
  keys.set(name, key ?? null)
  return key
}
const pickWalking = (text: string, names: ReadonlyArray<string>, hasEscapes: boolean): Array<unknown> | undefined => {
  const values = new Array<unknown>(names.length).fill(undefined)
  let at = afterSpace(text, 0) + 1
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === COMMA || code <= 32) {
      at++
      continue
    }
    if (code === CLOSE) return values
    if (code !== QUOTE) return undefined
    const key = at + 1,
      keyEnd = text.indexOf('"', key)
    if (keyEnd < 0 || (hasEscapes && text.slice(key, keyEnd).includes("\\"))) return undefined
    const start = afterSpace(text, afterSpace(text, keyEnd + 1) + 1)
    at = endOfValue(text, start, hasEscapes)
    for (let n = 0; n < names.length; n++)
      if (names[n].length === keyEnd - key && text.startsWith(names[n], key)) values[n] = valueOf(text, start, at)
  }
}
const valueOf = (text: string, start: number, end: number): unknown => {
  const first = text.charCodeAt(start)
  if (first === QUOTE) {
    const inside = text.slice(start + 1, end - 1)
    if (!inside.includes("\\")) return inside
  } else if (first === OPEN_LIST) {
    const texts = textsOf(text, start, end)
    if (texts !== undefined) return texts
  }
  return parseJson(text.slice(start, end))
}
/** Parses a list of texts without escapes or spaces between them; undefined for any other list. */
const textsOf = (text: string, start: number, end: number): string[] | undefined => {
  const texts: string[] = []
  for (let at = start + 1; ;) {
    if (text.charCodeAt(at) !== QUOTE) return undefined
    const close = text.indexOf('"', at + 1)
    const inside = text.slice(at + 1, close)
    if (close < 0 || inside.includes("\\")) return undefined
    texts.push(inside)
    at = close + 2
    if (at === end) return text.charCodeAt(close + 1) === CLOSE_LIST ? texts : undefined
    if (text.charCodeAt(close + 1) !== COMMA) return undefined
  }
}
const afterSpace = (text: string, from: number): number => {
  let at = from
  for (
    let code = text.charCodeAt(at);
    code === 32 || code === 10 || code === 13 || code === 9;
    code = text.charCodeAt(++at)
  ) {
    /* Go to the next character. */
  }
  return at
}
const endOfString = (text: string, from: number, hasEscapes: boolean): number => {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    if (end < 0) return text.length
    if (!hasEscapes) return end + 1
    let slashes = end
    while (text.charCodeAt(slashes - 1) === BACKSLASH) slashes--
    if (((end - slashes) & 1) === 0) return end + 1
  }
}
const endOfValue = (text: string, from: number, hasEscapes: boolean): number => {
  const first = text.charCodeAt(from)
  if (first === QUOTE) return endOfString(text, from, hasEscapes)
  let at = from
  if (first !== OPEN && first !== OPEN_LIST) {
    for (
      let code = first;
      at < text.length && code !== COMMA && code !== CLOSE && code > 32;
      code = text.charCodeAt(++at)
    ) {
      /* Go to the next character. */
    }
    return at
  }
  for (let depth = 0; at < text.length;) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at, hasEscapes)
      continue
    }
    at++
    if (code === OPEN || code === OPEN_LIST) depth++
    else if ((code === CLOSE || code === CLOSE_LIST) && --depth === 0) return at
  }
  return at
}
