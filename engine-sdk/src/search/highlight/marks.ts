/** Marks of one hit in both wire forms: a list for flat fields, an object for nested ones. */
import { type Analyzer } from "../../analysis/tokens.ts"
import { putOwn } from "../../documents/own-value.ts"
import { BoundedMap } from "../../bounded-map.ts"
import { type Snippet, type SnippetRules } from "./highlight-text.ts"

const ARRAY_ELEMENTS_MAX = 5

export type Json = Record<string, unknown>

export interface HighlightedField {
  readonly name: string
  readonly path: ReadonlyArray<string>
  readonly analyzer: Analyzer
  readonly marking: Analyzer | undefined
  readonly isNested: boolean
  readonly isInfix: boolean
  readonly rules: SnippetRules
  /** The rules with the field's own symbols, if it has some. */ readonly ownRules?: SnippetRules
}

/** A text with its marks. Its JSON is written once, no matter in how many forms and hits it occurs. */
export class MarkedText {
  readonly made: Snippet
  /** The snippet in the older form, if it differs. */ readonly older: Snippet
  /** What orders fields and elements; undefined if nothing was found in the text. */ readonly score: number
  private tokens: string | undefined
  private snippet: string | undefined
  private leaf: string | undefined
  private olderLeaf: string | undefined
  private readonly isPlainJson: boolean
  /** `isPlainJson`: whether JSON writes the marked text as it is, between quotation marks. */
  constructor(made: Snippet, score: number, isPlainJson: boolean, older: Snippet = made) {
    this.made = made
    this.isPlainJson = isPlainJson
    this.score = score
    this.older = older
  }
  get isFound(): boolean {
    return this.score >= 0
  }
  /** Approximate memory; a text without marks is shared with the document. */
  get bytes(): number {
    return this.isFound ? this.made.snippet.length + (this.made.value?.length ?? 0) : 0
  }
  /** Matched tokens of the older form as JSON. */
  get tokensJson(): string {
    return (this.tokens ??= this.isPlainJson
      ? plainListJson(this.older.matchedTokens)
      : JSON.stringify(this.older.matchedTokens))
  }
  get snippetJson(): string {
    return (this.snippet ??= this.isPlainJson ? `"${this.older.snippet}"` : JSON.stringify(this.older.snippet))
  }
  /** The members of its object, without the braces. */
  get leafJson(): string {
    return (this.leaf ??= this.older === this.made ? this.olderLeafJson : membersJson(leafOf(this.made)))
  }
  get olderLeafJson(): string {
    return (this.olderLeaf ??= `"matched_tokens":${this.tokensJson},"snippet":${this.snippetJson}${this.older.value === undefined ? "" : `,"value":${JSON.stringify(this.older.value)}`}`)
  }
}
const plainListJson = (texts: ReadonlyArray<string>): string => {
  let out = "["
  for (let i = 0; i < texts.length; i++) out += `${i === 0 ? "" : ","}"${texts[i]}"`
  return `${out}]`
}
const membersJson = (leaf: Json): string => JSON.stringify(leaf).slice(1, -1)
export const NOT_FOUND = -1
/** An element without marks, in a list with marked ones. */
export const unmarked = (value: unknown, isFull: boolean): MarkedText => {
  const text = String(value)
  return new MarkedText({ matchedTokens: [], snippet: text, value: isFull ? text : undefined }, NOT_FOUND, false)
}

/** A field of one hit in which something was found. */
export class FieldMarks {
  readonly field: HighlightedField
  /** One text, or the elements of a list. */ readonly texts: MarkedText | ReadonlyArray<MarkedText>
  readonly score: number
  private chosen: ReadonlyArray<number> | undefined
  constructor(field: HighlightedField, texts: MarkedText | ReadonlyArray<MarkedText>, score: number) {
    this.field = field
    this.texts = texts
    this.score = score
  }
  /** Indexes of the best elements of a list, best first. */
  get best(): ReadonlyArray<number> {
    if (this.chosen !== undefined) return this.chosen
    const texts = this.texts as ReadonlyArray<MarkedText>
    const best: number[] = []
    for (let i = 0; i < texts.length; i++) {
      if (!texts[i].isFound) continue
      let at = best.length
      while (at > 0 && texts[i].score > texts[best[at - 1]].score) at--
      if (at < ARRAY_ELEMENTS_MAX) best.splice(at, 0, i)
      if (best.length > ARRAY_ELEMENTS_MAX) best.pop()
    }
    return (this.chosen = best)
  }
}
const isList = (texts: FieldMarks["texts"]): texts is ReadonlyArray<MarkedText> => Array.isArray(texts)

/** The marks of one hit in both wire forms, each made on first use. */
export interface HitMarks {
  readonly highlight: Json
  readonly highlights: ReadonlyArray<Json>
  /** JSON text of `highlight`, and of `highlights`. */
  readonly highlightJson: string
  readonly highlightsJson: string
}
/**
 * Marks of hits whose fields are all plain texts or lists of texts: the usual case, written to the wire without
 * creating objects.
 */
export class PlainMarks implements HitMarks {
  private readonly fields: ReadonlyArray<FieldMarks>
  constructor(fields: ReadonlyArray<FieldMarks>) {
    this.fields = fields
  }
  get highlight(): Json {
    const into: Json = {}
    for (const one of this.fields) putMarks(one, into)
    return into
  }
  get highlights(): ReadonlyArray<Json> {
    return flatMarks(this.fields)
  }
  get highlightJson(): string {
    let out = "{"
    for (let f = 0; f < this.fields.length; f++) {
      const { field, texts } = this.fields[f]
      out += `${f === 0 ? "" : ","}${nameJson(field.name)}:`
      if (!isList(texts)) {
        out += `{${texts.leafJson}}`
        continue
      }
      for (let i = 0; i < texts.length; i++) out += `${i === 0 ? "[" : ","}{${texts[i].leafJson}}`
      out += "]"
    }
    return `${out}}`
  }
  get highlightsJson(): string {
    let out = "["
    for (const one of byScore(this.fields)) {
      const { field, texts } = one
      if (out !== "[") out += ","
      out += `{"field":${nameJson(field.name)},`
      if (!isList(texts)) {
        out += `${texts.olderLeafJson}}`
        continue
      }
      const { best } = one
      let tokens = "",
        snippets = "",
        values = ""
      for (let i = 0; i < best.length; i++) {
        const text = texts[best[i]],
          comma = i === 0 ? "" : ","
        tokens += comma + text.tokensJson
        snippets += comma + text.snippetJson
        if (field.rules.isFull) values += comma + JSON.stringify(text.older.value ?? "")
      }
      out += `"indices":[${best.join(",")}],"matched_tokens":[${tokens}],"snippets":[${snippets}]${field.rules.isFull ? `,"values":[${values}]` : ""}}`
    }
    return `${out}]`
  }
}
/** Best first; equal ones stay in the order of the fields. */
const byScore = (fields: ReadonlyArray<FieldMarks>): ReadonlyArray<FieldMarks> => {
  if (fields.length < 2) return fields
  const sorted: FieldMarks[] = []
  for (const one of fields) {
    let at = sorted.length
    while (at > 0 && one.score > sorted[at - 1].score) at--
    if (at === sorted.length) sorted.push(one)
    else sorted.splice(at, 0, one)
  }
  return sorted
}
export const putMarks = ({ field, texts }: FieldMarks, into: Json): void =>
  putOwn(into, field.name, isList(texts) ? texts.map(({ made }) => leafOf(made)) : leafOf(texts.made))
export const flatMarks = (fields: ReadonlyArray<FieldMarks>): ReadonlyArray<Json> =>
  byScore(fields).map((one) => {
    const { best, field, texts } = one
    if (!isList(texts)) return { field: field.name, ...leafOf(texts.older) }
    const chosen = best.map((at) => texts[at].older)
    return {
      field: field.name,
      indices: [...best],
      matched_tokens: chosen.map(({ matchedTokens }) => matchedTokens),
      snippets: chosen.map(({ snippet }) => snippet),
      ...(field.rules.isFull ? { values: chosen.map(({ value }) => value ?? "") } : {})
    }
  })
/** Highlights that were built as objects: parts of nested documents. */
export class ObjectMarks implements HitMarks {
  readonly highlight: Json
  readonly highlights: ReadonlyArray<Json>
  constructor(highlight: Json, highlights: ReadonlyArray<Json>) {
    this.highlight = highlight
    this.highlights = highlights
  }
  get highlightJson(): string {
    return JSON.stringify(this.highlight)
  }
  get highlightsJson(): string {
    return JSON.stringify(this.highlights)
  }
}
export const NO_MARKS: HitMarks = new PlainMarks([])

const names = new BoundedMap<string, string>({
  bytes_max: 1_000_000,
  bytesOf: (name, made) => 2 * (name.length + made.length)
})
const nameJson = (name: string): string => {
  const known = names.get(name)
  if (known !== undefined) return known
  const made = JSON.stringify(name)
  names.set(name, made)
  return made
}
/** Whether an object keeps members with these names in insertion order, without duplicates. */
export const keepOrder = (fields: ReadonlyArray<{ readonly name: string }>): boolean =>
  new Set(fields.map(({ name }) => name)).size === fields.length &&
  fields.every(({ name }) => name !== "__proto__" && !/^\d+$/.test(name))
export const leafOf = ({ snippet, value, matchedTokens }: Snippet): Json => ({
  matched_tokens: matchedTokens,
  snippet,
  ...(value === undefined ? {} : { value })
})
