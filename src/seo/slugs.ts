/** A value's slug, which it keeps forever, and the form in which two values are equal. Pure. */
import { createHash } from "node:crypto"
import { romanize } from "@dowser/engine-sdk/analysis"

export const SLUG_CHARACTERS_MAX = 80
/** Letters that neither our tables nor decomposition convert to Latin ones. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ["ß", "ss"],
  ["æ", "ae"],
  ["œ", "oe"],
  ["ø", "o"],
  ["đ", "d"],
  ["ð", "d"],
  ["þ", "th"],
  ["ł", "l"],
  ["ı", "i"]
])
const latin = (value: string): string =>
  romanize(value.normalize("NFKC").toLowerCase()).replace(/[ßæœøđðþłı]/g, (letter) => OTHERS.get(letter) ?? letter)

/** "USB-C" and "usb c" are the same value. A value without letters and digits is equal only to itself. */
export const valueKey = (value: string): string => {
  const key = latin(value).replace(/[^\p{L}\p{N}]+/gu, "")
  return key === "" ? value : key
}

/** Letters a to z, digits and dashes; if nothing of a value remains, its hash. */
export const slugOf = (value: string): string => {
  const slug = latin(value)
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, SLUG_CHARACTERS_MAX)
    .replace(/-+$/, "")
  return slug === "" ? `v-${createHash("sha256").update(value).digest("hex").slice(0, 10)}` : slug
}

/** Assigns free slugs: a second value with the same slug gets `-2`, and so on. Mostly O(1) each. */
export class SlugBook {
  readonly #taken: Set<string>
  readonly #next = new Map<string, number>()
  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken)
  }
  give(value: string): string {
    const base = slugOf(value)
    let slug = base
    for (let n = this.#next.get(base) ?? 2; this.#taken.has(slug); n++) {
      slug = `${base}-${n}`
      this.#next.set(base, n + 1)
    }
    this.#taken.add(slug)
    return slug
  }
}
