/**
 * Other queries that may have been meant, for a query that finds too little: keys of another layout, letters of another
 * script, words written together. The index determines which are worth searching: those in which it knows every word.
 * Pure.
 */
import type { WordUse } from "../engine.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import { layoutReadings } from "./layout-readings.ts"
import { spellingsOf } from "./spellings.ts"
import { halvesOf, splitAtDigits } from "./splits.ts"

export type RewriteKind = "layout" | "translit" | "split"
export interface Rewrite {
  readonly kind: RewriteKind
  readonly q: string
}
/**
 * In the order in which they are tried.
 *
 * @example
 * ```ts
 * import { rewriteKinds, RewriteSearch } from "@dowser/engine-sdk/understanding"
 *
 * new RewriteSearch("iphone15", rewriteKinds)
 * ```
 */
export const rewriteKinds: ReadonlyArray<RewriteKind> = ["layout", "translit", "split"]

/**
 * Parses a list in the form of a parameter; Invalid for unknown kinds. Empty: none.
 *
 * @example
 * ```ts
 * import { parseRewriteKinds } from "@dowser/engine-sdk/understanding"
 *
 * const kinds = parseRewriteKinds("layout,split")
 * if (kinds.ok) kinds.value // ["layout", "split"]
 * ```
 */
export const parseRewriteKinds = (text: string): Result<ReadonlyArray<RewriteKind>> => {
  const named = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
  const unknown = named.find((name) => !(rewriteKinds as ReadonlyArray<string>).includes(name))
  return unknown === undefined
    ? ok(rewriteKinds.filter((kind) => named.includes(kind)))
    : fail(
        invalid(
          `Parameter \`query_rewrite\` names \`${unknown.slice(0, 40)}\`; it may list \`layout\`, \`translit\` and \`split\`.`,
          "query_rewrite"
        )
      )
}

/** Longer queries are prose or a pasted document, and were not typed on the wrong layout. */
const WORDS_MAX = 8
const CHARACTERS_MAX = 200
/** Spellings of a word in one script that are looked up, at most and at least; the more letters, the fewer. */
const SPELLINGS_MAX = 96,
  SPELLINGS_MIN = 12,
  SPELLED_LETTERS = 2_400
/** Maximum words that are looked up for one query, the likeliest first. */
const LOOKED_UP_MAX = 600
/** Maximum rewrites of one kind. */
const KNOWN_MAX = 2
/** Rewrites of each kind that are tried even if the index knows none of their words, because they may contain typos. */
const GUESSES: ReadonlyMap<RewriteKind, number> = new Map([
  ["layout", 2],
  ["translit", 3],
  ["split", 1]
])

/** What the index knows of a word; undefined for a word that was not looked up. */
export type KnownWords = (word: string) => WordUse | undefined

/** A rewritten query. Each word may have several forms: the first known one is used, else the first. */
interface Reading {
  readonly kind: RewriteKind
  readonly words: ReadonlyArray<ReadonlyArray<string>>
}

/**
 * Other readings of a query: on another keyboard layout, in another script, or split.
 *
 * @example
 * ```ts
 * import { RewriteSearch } from "@dowser/engine-sdk/understanding"
 *
 * new RewriteSearch("ghbdtn", ["layout"]).candidates(undefined, 3) // first { kind: "layout", q: "привет" }
 * ```
 */
export class RewriteSearch {
  readonly #words: ReadonlyArray<string>
  readonly #readings: ReadonlyArray<Reading>

  constructor(q: string, kinds: ReadonlyArray<RewriteKind>) {
    const words = q.length > CHARACTERS_MAX ? [] : q.trim().split(/\s+/u)
    this.#words = words.length > WORDS_MAX ? [] : words.filter((word) => word !== "")
    this.#readings = kinds.flatMap((kind) => (this.#words.length === 0 ? [] : readingsOf.get(kind)!(this.#words)))
  }

  /** Words to look up in the index, at most six hundred. */
  get words(): ReadonlyArray<string> {
    const asked = new Set(this.#words)
    const most = Math.max(0, ...this.#readings.flatMap(({ words }) => words.map((forms) => forms.length)))
    // The first forms of all words precede the second forms of any.
    for (let form = 0; form < most; form++)
      for (const { words } of this.#readings)
        for (const forms of words) {
          if (asked.size >= LOOKED_UP_MAX) return [...asked]
          const own = forms[form]
          if (own !== undefined) for (const part of own.split(" ")) asked.add(part)
        }
    return [...asked]
  }

  /**
   * Rewrites to try, in order, at most `most`. If `known` is undefined, the index's words are not known, and the
   * likeliest rewrites of each kind are tried. `completes`: the last word may be a prefix.
   */
  candidates(known: KnownWords | undefined, most: number, completes = true): ReadonlyArray<Rewrite> {
    const typed = this.#words.join(" ").toLowerCase()
    const seen = new Set([typed])
    const fresh = ({ q }: Rewrite) => !seen.has(q) && seen.add(q) !== undefined
    const found =
      known === undefined
        ? []
        : rewriteKinds.flatMap((kind) =>
            this.#readings
              .filter((reading) => reading.kind === kind)
              .flatMap((reading) => knownForm(reading, this.#words, known, completes) ?? [])
              .sort((a, b) => a.unfinished - b.unfinished || b.replaced - a.replaced)
              .map(({ q }): Rewrite => ({ kind, q }))
              .filter(fresh)
              .slice(0, KNOWN_MAX)
          )
    return found.length > 0 ? found.slice(0, most) : this.#guesses(known, fresh).slice(0, most)
  }
  #guesses(known: KnownWords | undefined, fresh: (rewrite: Rewrite) => boolean): ReadonlyArray<Rewrite> {
    return rewriteKinds.flatMap((kind) =>
      this.#readings
        .filter((reading) => reading.kind === kind)
        .flatMap(({ words }) => {
          const chosen = words.map((forms, i) => (isExact(known, this.#words[i]!) ? this.#words[i] : forms[0]))
          return chosen.every((word) => word !== undefined) ? [{ kind, q: chosen.join(" ") }] : []
        })
        .filter(fresh)
        .slice(0, GUESSES.get(kind))
    )
  }
}

const isExact = (known: KnownWords | undefined, word: string): boolean => known?.(word)?.isIndexed === true

/** undefined unless the index knows every word. */
const knownForm = (
  { kind, words }: Reading,
  typed: ReadonlyArray<string>,
  known: KnownWords,
  completes: boolean
): { readonly q: string; readonly unfinished: number; readonly replaced: number } | undefined => {
  let unfinished = 0,
    replaced = 0
  const chosen: Array<string> = []
  for (const [i, forms] of words.entries()) {
    const asTyped = typed[i]!
    // Some words of a query may be right as typed; not all of them, or it would have found something.
    if (typed.length > 1 && isExact(known, asTyped)) {
      chosen.push(asTyped)
      continue
    }
    const exact = forms.find((form) => form.split(" ").every((part) => isExact(known, part)))
    const begun =
      exact === undefined && completes && i === words.length - 1 && kind !== "split"
        ? forms.find((form) => [...form].length >= 3 && known(form)?.isBeginning === true)
        : undefined
    const form = exact ?? begun
    if (form === undefined) return undefined
    if (exact === undefined) unfinished++
    if (form !== asTyped) replaced++
    chosen.push(form)
  }
  return replaced === 0 ? undefined : { q: chosen.join(" "), unfinished, replaced }
}

type ReadingsOf = (words: ReadonlyArray<string>) => ReadonlyArray<Reading>
const asLayouts: ReadingsOf = (words) =>
  layoutReadings(words).map((reading) => ({ kind: "layout", words: reading.words.map((word) => [word]) }))
const asScripts: ReadingsOf = (words) => {
  const letters = words.reduce((sum, word) => sum + word.length, 1)
  const most = Math.max(SPELLINGS_MIN, Math.min(SPELLINGS_MAX, Math.floor(SPELLED_LETTERS / letters)))
  const each = words.map((word) => spellingsOf(word, most))
  const targets = new Set(each.flat().map(({ target }) => target))
  return [...targets].map((target) => ({
    kind: "translit",
    words: each.map((own, i) => own.find((one) => one.target === target)?.spellings ?? [words[i]!])
  }))
}
const asSplit: ReadingsOf = (words) => {
  const atDigits = words.map((word) => splitAtDigits(word) ?? word)
  const hasDigits = atDigits.some((word, i) => word !== words[i])
  const halves = words.map((word) => halvesOf(word).map((two) => two.join(" ")))
  return [
    ...(hasDigits ? [{ kind: "split" as const, words: atDigits.map((word) => [word]) }] : []),
    ...(halves.some((own) => own.length > 0)
      ? [{ kind: "split" as const, words: halves.map((own, i) => [words[i]!, ...own]) }]
      : [])
  ]
}
const readingsOf: ReadonlyMap<RewriteKind, ReadingsOf> = new Map([
  ["layout", asLayouts],
  ["translit", asScripts],
  ["split", asSplit]
])
