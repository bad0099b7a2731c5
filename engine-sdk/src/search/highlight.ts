/** Highlights of one hit in both wire forms (engine-contract 10.3, 10.4), from the stored document. */
import { analyzerOf, wantedTokens, type Analyzer, type WantedTokens } from "../analysis/analyzer.ts"
import { isSelected, type StoredDocument } from "../documents/mod.ts"
import type { HighlightRequest, Selection, TextQuery } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import type { TextColumn } from "../index/columns.ts"
import type { Segment } from "../index/segment.ts"
import type { SearchScope } from "./scope.ts"
import type { Combination, KnownTerms } from "./text-search.ts"
import { bestWindow, snippetOf, type MarkedWord, type Snippet, type SnippetRules, type TextMatch, type WordFinder } from "./highlight-text.ts"

const ARRAY_ELEMENTS_MAX = 5
type Json = Record<string, unknown>

/** Words that took part in matching, then the words of the query itself where a document has them. */
export const markedWords = (query: TextQuery, combinations: ReadonlyArray<Combination>): ReadonlyMap<string, MarkedWord> => {
  const words = new Map<string, MarkedWord>()
  // A stemmed word counts the letters that were typed.
  const surfaceOf = new Map(query.tokens.map((token, i) => [token, query.surface[i] ?? token]))
  for (const combination of combinations) {
    for (const { word, typed, cost, isPrefix } of combination.words) if (!words.has(word)) words.set(word, { typedLength: [...surfaceOf.get(typed) ?? typed].length, typos: cost, isPrefix })
  }
  for (const phrase of query.phrases) for (const word of phrase) if (!words.has(word)) words.set(word, { typedLength: word.length, typos: 0, isPrefix: false })
  for (const word of query.tokens) if (!words.has(word)) words.set(word, { typedLength: word.length, typos: 0, isPrefix: false })
  return words
}

/** Longer texts are unlikely to repeat. */
const REPEATED_TEXT_MAX = 24
interface MarkedText { readonly made: Snippet; readonly match: TextMatch }
interface HighlightedField { readonly name: string; readonly path: ReadonlyArray<string>; readonly analyzer: Analyzer; readonly marking: Analyzer | undefined; readonly isNested: boolean; readonly isInfix: boolean; readonly find: WordFinder; readonly rules: SnippetRules }

export class Highlighter {
  private readonly schema: CollectionSchema
  private readonly request: HighlightRequest
  private readonly words: ReadonlyMap<string, MarkedWord>
  private readonly wanted: WantedTokens
  private readonly query: TextQuery
  private readonly scope: SearchScope
  /** Object fields that are highlighted whole. */ private readonly objects: string[][] = []
  private readonly fields: ReadonlyArray<HighlightedField>
  private readonly marker: ((written: string) => MarkedWord | undefined) | undefined
  private readonly known: KnownTerms | undefined
  /** `marker`: how a named ranking says what it matched. `known`: terms that matching has looked up already. */
  constructor(scope: SearchScope, schema: CollectionSchema, request: HighlightRequest, selection: Selection, words: ReadonlyMap<string, MarkedWord>, query: TextQuery, marker?: (written: string) => MarkedWord | undefined, known?: KnownTerms) {
    this.known = known
    this.query = query
    this.scope = scope
    this.marker = marker
    this.schema = schema
    this.request = request
    this.words = words
    this.wanted = wantedTokens(words.keys())
    this.fields = request.fields.flatMap((name) => {
      const field = this.schema.fields.find((candidate) => candidate.name === name)
      if (field !== undefined && (field.type === "object" || field.type === "object[]")) { this.objects.push(name.split(".")); return [] }
      if (field === undefined || (field.type !== "string" && field.type !== "string[]")) return []
      if (!request.explicit && !isSelected(selection, name)) return []
      return [{
        name, path: name.split("."), analyzer: analyzerOf(schema, field, scope.dictionaries), isNested: field.nested === true || name.includes("."), isInfix: (query.fields.find((one) => one.field === name)?.infix ?? "off") !== "off", find: this.finderOf(name),
        marking: field.token_separators.length + field.symbols_to_index.length === 0 ? undefined : analyzerOf(schema, { ...field, token_separators: [], symbols_to_index: [] }, scope.dictionaries),
        rules: {
          affixTokens: request.affixTokens, threshold: request.snippetThreshold, startTag: request.startTag, endTag: request.endTag, isFull: request.fullFields.includes(name),
          separators: schema.token_separators.join(""), symbols: schema.symbols_to_index.join(""),
        },
      }]
    })
  }

  /** Terms of the marked words per segment, by field: a field whose postings miss a document is not read at all. */
  private readonly terms = new Map<Segment, Array<Int32Array | undefined>>()
  private mayMatch(field: HighlightedField, f: number, segment: Segment, s: number, doc: number): boolean {
    const column = segment.text(field.name)
    if (column === undefined || field.isInfix || this.marker !== undefined) return true
    let own = this.terms.get(segment)
    if (own === undefined) this.terms.set(segment, own = [])
    const terms = own[f] ??= this.termsIn(field, column, s)
    for (let i = 0; i < terms.length; i++) if (column.posting(terms[i], doc) >= 0) return true
    return false
  }
  private termsIn(field: HighlightedField, column: TextColumn, s: number): Int32Array {
    const { fields } = this.query
    const asked = fields.findIndex((one) => one.field === field.name)
    const terms: number[] = []
    for (const word of this.words.keys()) {
      const known = asked < 0 ? undefined : this.known?.(word)
      const term = known === undefined ? column.terms.findText(word) : known[s * fields.length + asked]
      if (term >= 0) terms.push(term)
    }
    return Int32Array.from(terms)
  }

  highlight(document: StoredDocument, segment: Segment, s: number, doc: number): { highlight: Json; highlights: Json[] } {
    const highlight: Json = {}
    const flat: Array<{ entry: Json; score: number }> = []
    const fields = this.fields.filter((field, f) => this.mayMatch(field, f, segment, s, doc))
    const values = document.pick(fields.map(({ name }) => name))
    for (const [f, field] of fields.entries()) {
      const literal = values[f]
      if (literal === undefined && field.isNested) { this.nested(document.value, field, highlight); continue }
      const texts = typeof literal === "string" ? [literal] : Array.isArray(literal) ? literal : []
      const found = texts.map((text) => typeof text === "string" ? this.textOf(text, field) : undefined)
      if (found.every((one) => one === undefined)) continue
      if (typeof literal === "string") {
        const { snippet, value, matchedTokens } = found[0]!.made
        highlight[field.name] = { matched_tokens: matchedTokens, snippet, ...(value === undefined ? {} : { value }) }
        flat.push({ entry: { field: field.name, matched_tokens: matchedTokens, snippet, ...(value === undefined ? {} : { value }) }, score: scoreOf(found[0]!.match) })
        continue
      }
      const best = found.flatMap((one, at) => one === undefined ? [] : [{ ...one, at }]).sort((a, b) => scoreOf(b.match) - scoreOf(a.match) || a.at - b.at).slice(0, ARRAY_ELEMENTS_MAX)
      highlight[field.name] = found.map((one, at) => one === undefined ? { matched_tokens: [], snippet: String(texts[at]), ...(field.rules.isFull ? { value: String(texts[at]) } : {}) } : leafOf(one.made))
      flat.push({
        entry: {
          field: field.name, indices: best.map(({ at }) => at), matched_tokens: best.map(({ made }) => made.matchedTokens), snippets: best.map(({ made }) => made.snippet),
          ...(field.rules.isFull ? { values: best.map(({ made }) => made.value ?? "") } : {}),
        },
        score: scoreOf(best[0].match),
      })
    }
    for (const path of this.objects) this.whole(document.value, path, highlight)
    return { highlight, highlights: flat.sort((a, b) => b.score - a.score).map(({ entry }) => entry) }
  }

  /** The words, and where a field was searched by infix every token around the first query word. */
  private finderOf(name: string): WordFinder {
    const { marker, words } = this
    if (marker !== undefined) return (token, text, start, end) => words.get(token) ?? marker(text.slice(start, end).toLowerCase())
    const infix = this.query.fields.find(({ field }) => field === name)?.infix ?? "off"
    if (infix === "off") return (token) => words.get(token)
    const wanted: string | undefined = this.query.tokens[0]
    const inside: MarkedWord = { typedLength: Infinity, typos: 0, isPrefix: false }
    return (token, text, start, end) => words.get(token) ?? (wanted !== undefined && text.slice(start, end).toLowerCase().includes(wanted) ? inside : undefined)
  }
  private textOf(text: string, field: HighlightedField): MarkedText | undefined {
    if (text.length > REPEATED_TEXT_MAX) return this.marked(text, field)
    // Brands and categories repeat from hit to hit.
    let known = this.repeated.get(field)
    if (known === undefined) this.repeated.set(field, known = new Map())
    if (known.has(text)) return known.get(text)
    const marked = this.marked(text, field)
    known.set(text, marked)
    return marked
  }
  private readonly repeated = new Map<HighlightedField, Map<string, MarkedText | undefined>>()
  private marked(text: string, field: HighlightedField): MarkedText | undefined {
    const spans = field.isInfix || this.marker !== undefined ? field.analyzer.tokenizeWithOffsets(text) : field.analyzer.spansFor(text, this.wanted)
    const match = bestWindow(text, spans, field.find)
    // Marks go by the collection's own characters, even where the field indexes others (as recorded).
    return match === undefined ? undefined : { match, made: snippetOf(text, field.marking === undefined ? spans : field.marking.tokenizeWithOffsets(text), match, field.find, field.rules) }
  }

  /** An object with all its leaves, where any of its texts matches. */
  private whole(document: Json, path: ReadonlyArray<string>, into: Json): void {
    if (path.length !== 1 || !(path[0] in document)) return
    let matched = false
    const { affixTokens, snippetThreshold, startTag, endTag, fullFields } = this.request
    const walk = (value: unknown, name: string): unknown => {
      if (Array.isArray(value)) return value.map((element) => walk(element, name))
      if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner, `${name}.${key}`)]))
      const field = this.schema.fields.find((candidate) => candidate.name === name)
      if (typeof value !== "string" || field === undefined) return { matched_tokens: [], snippet: String(value) }
      const found = this.textOf(value, {
        name, path, analyzer: analyzerOf(this.schema, field, this.scope.dictionaries), marking: undefined, isNested: true, isInfix: false, find: this.marker === undefined ? (token) => this.words.get(token) : this.finderOf(name),
        rules: { affixTokens, threshold: snippetThreshold, startTag, endTag, isFull: fullFields.includes(path[0]), separators: this.schema.token_separators.join(""), symbols: this.schema.symbols_to_index.join("") },
      })
      if (found === undefined) return { matched_tokens: [], snippet: value }
      matched = true
      return leafOf(found.made)
    }
    const made = walk(document[path[0]], path[0])
    if (matched) into[path[0]] = made
  }

  /** Rebuilds the objects along the path with only this field in them. */
  private nested(document: Json, field: HighlightedField, into: Json): void {
    let matched = false
    const leaf = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(leaf)
      if (typeof value !== "string") return { matched_tokens: [], snippet: String(value) }
      const found = this.textOf(value, field)
      if (found === undefined) return { matched_tokens: [], snippet: value, ...(field.rules.isFull ? { value: "" } : {}) }
      matched = true
      return leafOf(found.made)
    }
    const walk = (value: unknown, depth: number, before: unknown): unknown => {
      if (depth === field.path.length) return leaf(value)
      if (Array.isArray(value)) return value.map((element, i) => walk(element, depth, Array.isArray(before) ? before[i] : undefined) ?? {})
      if (typeof value !== "object" || value === null || !(field.path[depth] in value)) return before
      const kept: Json = typeof before === "object" && before !== null ? { ...before as Json } : {}
      kept[field.path[depth]] = walk((value as Json)[field.path[depth]], depth + 1, kept[field.path[depth]])
      return kept
    }
    const made = walk(document, 0, into)
    if (matched) Object.assign(into, made)
  }
}
const leafOf = ({ snippet, value, matchedTokens }: Snippet): Json => ({ matched_tokens: matchedTokens, snippet, ...(value === undefined ? {} : { value }) })
/** The order of fields and elements: words in the window, words present, closeness, whole values, early places. */
const scoreOf = (match: TextMatch): number =>
  match.words * 1e9 + match.present * 1e7 + (100 - match.distance) * 1e4 + (match.isWhole ? 1e3 : 0) + (match.present > 1 ? Math.max(0, 255 - match.offsets[match.offsets.length - 1]) : 0)
