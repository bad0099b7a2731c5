/** Highlights of one hit in both wire forms (`docs/contract/highlighting.md`), from the stored document. */
import { analyzerOf } from "../../analysis/analyzer.ts"
import { TextTokens, wantedTokens, type WantedTokens } from "../../analysis/text-tokens.ts"
import type { Analyzer } from "../../analysis/tokens.ts"
import { isSelected, type StoredDocument } from "../../documents/mod.ts"
import { ownValue, putAllOwn, putOwn } from "../../documents/own-value.ts"
import type { HighlightRequest, Selection, TextQuery } from "../../plan.ts"
import type { CollectionSchema, Field } from "../../schema.ts"
import { hasBit, type Bits } from "../../index/bits.ts"
import type { TextColumn } from "../../index/columns.ts"
import type { Segment } from "../../index/segment.ts"
import type { AnswerBudget } from "../../budget/answer-budget.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import type { SearchScope } from "../scope.ts"
import type { KnownTerms } from "../text/term-lookup.ts"
import type { Combination } from "../text/word-matcher.ts"
import {
  bestWindow,
  snippetOf,
  type MarkedWord,
  type Marker,
  type SnippetRules,
  type TextMatch,
  type WordFinder
} from "./highlight-text.ts"
import {
  FieldMarks,
  flatMarks,
  type HighlightedField,
  type HitMarks,
  type Json,
  keepOrder,
  MarkedText,
  NO_MARKS,
  NOT_FOUND,
  ObjectMarks,
  PlainMarks,
  putMarks,
  unmarked,
  leafOf
} from "./marks.ts"

/** Cost of marking a text, apart from its characters, in steps. */
const MARKING_STEPS = 32
/** A quarter of a microsecond per character: splitting it into words and checking which of them are wanted. */
const CHARACTER_STEPS = 4
/** Words that took part in matching, then the words of the query itself if a document contains them. */
export const markedWords = (
  query: TextQuery,
  combinations: ReadonlyArray<Combination>
): ReadonlyMap<string, MarkedWord> => {
  const words = new Map<string, MarkedWord>()
  // For a stemmed word, the number of typed letters is used.
  const surfaceOf = new Map(query.tokens.map((token, i) => [token, query.surface[i] ?? token]))
  for (const combination of combinations) {
    for (const { word, typed, cost, isPrefix } of combination.words)
      if (!words.has(word))
        words.set(word, { typedLength: [...(surfaceOf.get(typed) ?? typed)].length, typos: cost, isPrefix })
  }
  for (const phrase of query.phrases)
    for (const word of phrase)
      if (!words.has(word)) words.set(word, { typedLength: word.length, typos: 0, isPrefix: false })
  for (const word of query.tokens)
    if (!words.has(word)) words.set(word, { typedLength: word.length, typos: 0, isPrefix: false })
  return words
}

/** Filled and read for one text at a time; the second one for a field that is marked by other characters. */
const textTokens = new TextTokens(),
  markingTokens = new TextTokens()
/** Longer texts are unlikely to repeat. */
const REPEATED_TEXT_MAX = 24
const arePlainJson = (text: string): boolean => JSON.stringify(text).length === text.length + 2
const withOwnCharacters = (rules: SnippetRules, { symbols_to_index, token_separators }: Field): SnippetRules => ({
  ...rules,
  ...(token_separators.length > 0 ? { separators: token_separators.join("") } : {}),
  ...(symbols_to_index.length > 0 ? { symbols: symbols_to_index.join("") } : {})
})

/** Ends a word in Persian (`docs/contract/text.md#locales`). */
const ZERO_WIDTH_NON_JOINER = "\u200c"

/** What highlighting takes from a request, independent of the query's words. */
interface HighlightPlan {
  readonly schema: CollectionSchema
  readonly selection: Selection
  readonly asked: TextQuery["fields"]
  readonly fields: ReadonlyArray<HighlightedField>
  /** Object fields that are highlighted as a whole, by path. */ readonly objects: ReadonlyArray<ReadonlyArray<string>>
  /** Whether marks can be written without creating objects. */ readonly isPlain: boolean
}
/** Cached by the request object, which plans of one template share. */
const plans = new WeakMap<HighlightRequest, HighlightPlan>()
const highlightPlan = (
  scope: SearchScope,
  schema: CollectionSchema,
  request: HighlightRequest,
  selection: Selection,
  asked: TextQuery["fields"]
): HighlightPlan => {
  const known = plans.get(request)
  if (known !== undefined && known.schema === schema && known.selection === selection && known.asked === asked)
    return known
  const objects: string[][] = []
  // Words of a dictionary may change, so a plan that depends on one must not be cached.
  let lasts = true
  const fields = request.fields.flatMap((name): HighlightedField[] => {
    const field = schema.fields.find((candidate) => candidate.name === name)
    if (field !== undefined && (field.type === "object" || field.type === "object[]")) {
      objects.push(name.split("."))
      return []
    }
    if (field === undefined || (field.type !== "string" && field.type !== "string[]")) return []
    if (!request.explicit && !isSelected(selection, name)) return []
    if (field.stem_dictionary !== "") lasts = false
    const hasOwn = field.token_separators.length + field.symbols_to_index.length > 0
    const rules: SnippetRules = {
      affixTokens: request.affixTokens,
      threshold: request.snippetThreshold,
      startTag: request.startTag,
      endTag: request.endTag,
      arePlainTags: arePlainJson(request.startTag + request.endTag),
      isFull: request.fullFields.includes(name),
      separators: schema.token_separators.join("") + (field.locale === "fa" ? ZERO_WIDTH_NON_JOINER : ""),
      symbols: schema.symbols_to_index.join(""),
      bytesMax: request.bytes_max
    }
    return [
      {
        name,
        path: name.split("."),
        analyzer: analyzerOf(schema, field, scope.dictionaries),
        isNested: field.nested === true || name.includes("."),
        isInfix: (asked.find((one) => one.field === name)?.infix ?? "off") !== "off",
        marking: hasOwn
          ? analyzerOf(schema, { ...field, token_separators: [], symbols_to_index: [] }, scope.dictionaries)
          : undefined,
        rules,
        ...(hasOwn ? { ownRules: withOwnCharacters(rules, field) } : {})
      }
    ]
  })
  const plan = { schema, selection, asked, fields, objects, isPlain: objects.length === 0 && keepOrder(fields) }
  if (lasts) plans.set(request, plan)
  return plan
}

/** Where a field's words are: as sets that all threads share, if there are any; else as terms. */
interface Places {
  readonly column: TextColumn
  readonly sets: ReadonlyArray<Bits>
  readonly terms: ReadonlyArray<number>
}

export class Highlighter {
  private readonly schema: CollectionSchema
  private readonly request: HighlightRequest
  private readonly words: ReadonlyMap<string, MarkedWord>
  private readonly wanted: WantedTokens
  private readonly query: TextQuery
  /** The query as it was typed. */ private readonly asked: string
  private readonly scope: SearchScope
  private readonly plan: HighlightPlan
  private readonly marker: Marker | undefined
  private readonly known: KnownTerms | undefined
  private readonly budget: AnswerBudget | undefined
  private readonly find: WordFinder
  private readonly findInside: WordFinder
  /** `marker`: given for a named ranking. `known`: terms that matching has already looked up. */
  constructor(
    scope: SearchScope,
    schema: CollectionSchema,
    request: HighlightRequest,
    selection: Selection,
    words: ReadonlyMap<string, MarkedWord>,
    query: TextQuery,
    asked: string,
    marker?: Marker,
    known?: KnownTerms,
    budget?: AnswerBudget
  ) {
    this.known = known
    this.budget = budget
    this.query = query
    this.asked = asked
    this.scope = scope
    this.marker = marker
    this.schema = schema
    this.request = request
    this.words = words
    this.wanted = wantedTokens([...words.keys(), ...(marker?.roots ?? [])])
    this.plan = highlightPlan(scope, schema, request, selection, query.fields)
    this.find =
      marker === undefined
        ? (token) => words.get(token)
        : (token, text, start, end, isLower) =>
            words.get(token) ?? marker.find(isLower ? token : text.slice(start, end).toLowerCase())
    // For a field that was searched by infix, every token that contains the first query word is marked, too.
    const wanted: string | undefined = query.tokens[0],
      inside: MarkedWord = { typedLength: Infinity, typos: 0, isPrefix: false }
    this.findInside =
      marker !== undefined || wanted === undefined
        ? this.find
        : (token, text, start, end, isLower) =>
            words.get(token) ??
            ((isLower ? token : text.slice(start, end).toLowerCase()).includes(wanted) ? inside : undefined)
  }

  /** The segment read last and, per field, where its words may occur; undefined if they may occur anywhere. */
  private segment: Segment | undefined
  private places: Array<Places | undefined | null> = []
  /** Whether the field's postings contain the document. If not, the document is not read at all. */
  private mayMatch(f: number, segment: Segment, s: number, doc: number): boolean {
    if (segment !== this.segment) {
      this.segment = segment
      this.places = []
    }
    let place = this.places[f]
    if (place === undefined) place = this.places[f] = this.placesIn(this.plan.fields[f], segment, s)
    if (place === null) return true
    const { column, sets, terms } = place
    for (let i = 0; i < sets.length; i++) if (hasBit(sets[i], doc)) return true
    for (let i = 0; i < terms.length; i++) if (column.posting(terms[i], doc) >= 0) return true
    return false
  }
  private placesIn(field: HighlightedField, segment: Segment, s: number): Places | null {
    const column = segment.text(field.name)
    if (column === undefined || field.isInfix || this.marker !== undefined) return null
    const { fields } = this.query
    const asked = fields.findIndex((one) => one.field === field.name)
    const terms: number[] = [],
      sets: Bits[] = []
    for (const word of this.words.keys()) {
      const known = asked < 0 ? undefined : this.known?.(word)
      const term = known === undefined ? column.terms.findText(word) : known[s * fields.length + asked]
      if (term < 0) continue
      const set = column.storedSetOf(term)
      if (set === undefined) terms.push(term)
      else sets.push(set.bits)
    }
    return { column, sets, terms }
  }

  /** Reads what is marked from the document; the JSON forms are made later, without reading the index. */
  marks(document: StoredDocument, segment: Segment, s: number, doc: number): HitMarks {
    const { plan } = this
    // Nothing is marked in hits that were not reached in time.
    if (isOver()) return NO_MARKS
    spend((document.text?.length ?? 0) >>> 2)
    const fields: HighlightedField[] = [],
      asked: string[] = []
    for (let f = 0; f < plan.fields.length; f++)
      if (this.mayMatch(f, segment, s, doc)) {
        fields.push(plan.fields[f])
        asked.push(plan.fields[f].name)
      }
    const values = document.pick(asked)
    const found: FieldMarks[] = []
    let objects: Json | undefined = plan.isPlain ? undefined : {}
    for (let f = 0; f < fields.length; f++) {
      const field = fields[f],
        literal = values[f]
      if (literal === undefined && field.isNested) {
        if (objects === undefined) {
          objects = {}
          for (const one of found) putMarks(one, objects)
        }
        this.nested(document.value, field, objects)
        continue
      }
      const marks =
        typeof literal === "string"
          ? this.textMarks(literal, field)
          : Array.isArray(literal)
            ? this.listMarks(literal, field)
            : undefined
      if (marks === undefined) continue
      found.push(marks)
      if (objects !== undefined) putMarks(marks, objects)
    }
    if (objects === undefined) return found.length === 0 ? NO_MARKS : new PlainMarks(found)
    for (const path of plan.objects) this.whole(document.value, path, objects)
    return new ObjectMarks(objects, flatMarks(found))
  }
  private textMarks(text: string, field: HighlightedField): FieldMarks | undefined {
    const marked = this.textOf(text, field)
    return marked === undefined || !marked.isFound ? undefined : new FieldMarks(field, marked, marked.score)
  }
  private listMarks(list: ReadonlyArray<unknown>, field: HighlightedField): FieldMarks | undefined {
    const texts: MarkedText[] = []
    let best = NOT_FOUND
    for (const element of list) {
      const marked = typeof element === "string" ? this.textOf(element, field) : unmarked(element, field.rules.isFull)
      if (marked.score > best) best = marked.score
      texts.push(marked)
    }
    return best === NOT_FOUND ? undefined : new FieldMarks(field, texts, best)
  }

  private textOf(text: string, field: HighlightedField): MarkedText {
    if (spend(MARKING_STEPS + text.length * CHARACTER_STEPS)) return unmarked(text, field.rules.isFull)
    if (text.length > REPEATED_TEXT_MAX) return this.marked(text, field)
    // Brands and categories repeat from hit to hit, so their marks are cached.
    let known = this.repeated.get(field)
    if (known === undefined) this.repeated.set(field, (known = new Map()))
    let marked = known.get(text)
    if (marked === undefined) known.set(text, (marked = this.marked(text, field)))
    return marked
  }
  private readonly repeated = new Map<HighlightedField, Map<string, MarkedText>>()
  private marked(text: string, field: HighlightedField): MarkedText {
    const made = this.markedNew(text, field)
    this.budget?.hold(made.bytes, "highlights")
    return made
  }
  private markedNew(text: string, field: HighlightedField): MarkedText {
    const find = field.isInfix ? this.findInside : this.find
    field.analyzer.readTokens(text, this.mayBeginOtherwise(field) ? undefined : this.wanted, textTokens)
    const match = bestWindow(text, textTokens, find)
    if (match === undefined) return unmarked(text, field.rules.isFull)
    const typed = this.typedLength(field)
    if (field.marking === undefined || field.ownRules === undefined)
      return new MarkedText(
        snippetOf(text, textTokens, match, find, field.rules, typed),
        scoreOf(match),
        textTokens.isPlainJson && field.rules.arePlainTags
      )
    // The newer form uses the collection's own symbols even if the field has its own, as recorded.
    field.marking.readTokens(text, undefined, markingTokens)
    return new MarkedText(
      snippetOf(text, markingTokens, match, this.findIn(field), field.rules, typed),
      scoreOf(match),
      false,
      snippetOf(text, textTokens, match, find, field.ownRules, typed)
    )
  }
  /** Whether a token may contain a marked word without starting with any of them. */
  private mayBeginOtherwise({ analyzer, isInfix }: HighlightedField): boolean {
    if (isInfix || this.marker === undefined) return isInfix
    // For a named ranking, the symbols that a token keeps separate words.
    return this.marker.roots === undefined || keepsSymbols(analyzer)
  }
  /**
   * Finds words only as far as the field contains them: tokenized with other symbols, a text may show words that the
   * field does not contain.
   */
  private findIn(field: HighlightedField): WordFinder {
    const asked = this.query.fields.findIndex((one) => one.field === field.name)
    const { length: width } = this.query.fields
    return (token) => {
      const word = this.words.get(token)
      if (word === undefined) return undefined
      const terms = asked < 0 ? undefined : this.known?.(token)
      const isHeld =
        terms === undefined
          ? (this.segment?.text(field.name)?.terms.findText(token) ?? 0) >= 0
          : terms.some((term, i) => i % width === asked && term >= 0)
      return isHeld ? word : undefined
    }
  }
  /**
   * Number of letters of the query's last word, as the field would tokenize it. That many letters are marked of any
   * completed word, even if the last word was replaced, excluded or is a stop word (as recorded). undefined if the word
   * itself determines it.
   */
  private typedLength({ analyzer, marking }: HighlightedField): number | undefined {
    if (this.marker !== undefined) return undefined
    const reader = marking ?? analyzer
    if (this.typedBy?.reader !== reader) {
      const last = reader.tokenize(this.asked).at(-1)
      this.typedBy = { reader, length: last === undefined ? undefined : [...last].length }
    }
    return this.typedBy.length
  }
  private typedBy: { readonly reader: Analyzer; readonly length: number | undefined } | undefined

  /** Highlights an object with all its leaves, if any of its texts matches. */
  private whole(document: Json, path: ReadonlyArray<string>, into: Json): void {
    if (path.length !== 1 || !Object.hasOwn(document, path[0])) return
    let matched = false
    const { affixTokens, bytes_max, snippetThreshold, startTag, endTag, fullFields } = this.request
    const walk = (value: unknown, name: string): unknown => {
      if (Array.isArray(value)) return value.map((element) => walk(element, name))
      if (typeof value === "object" && value !== null)
        return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner, `${name}.${key}`)]))
      spend(this.schema.fields.length)
      const field = this.schema.fields.find((candidate) => candidate.name === name)
      if (typeof value !== "string" || field === undefined) return { matched_tokens: [], snippet: String(value) }
      const found = this.textOf(value, {
        name,
        path,
        analyzer: analyzerOf(this.schema, field, this.scope.dictionaries),
        marking: undefined,
        isNested: true,
        isInfix: false,
        rules: {
          affixTokens,
          threshold: snippetThreshold,
          startTag,
          endTag,
          arePlainTags: arePlainJson(startTag + endTag),
          isFull: fullFields.includes(path[0]),
          separators: this.schema.token_separators.join(""),
          symbols: this.schema.symbols_to_index.join(""),
          bytesMax: bytes_max
        }
      })
      if (!found.isFound) return { matched_tokens: [], snippet: value }
      matched = true
      return leafOf(found.made)
    }
    const made = walk(document[path[0]], path[0])
    if (matched) putOwn(into, path[0], made)
  }

  /** Rebuilds the objects along the path with only this field in them. */
  private nested(document: Json, field: HighlightedField, into: Json): void {
    let matched = false
    const leaf = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(leaf)
      if (typeof value !== "string") return { matched_tokens: [], snippet: String(value) }
      const found = this.textOf(value, field)
      if (!found.isFound) return { matched_tokens: [], snippet: value, ...(field.rules.isFull ? { value: "" } : {}) }
      matched = true
      return leafOf(found.made)
    }
    const walk = (value: unknown, depth: number, before: unknown): unknown => {
      if (depth === field.path.length) return leaf(value)
      if (Array.isArray(value))
        return value.map((element, i) => walk(element, depth, Array.isArray(before) ? before[i] : undefined) ?? {})
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, field.path[depth])) return before
      const kept: Json = typeof before === "object" && before !== null ? { ...(before as Json) } : {}
      putOwn(
        kept,
        field.path[depth],
        walk((value as Json)[field.path[depth]], depth + 1, ownValue(kept, field.path[depth]))
      )
      return kept
    }
    const made = walk(document, 0, into)
    if (matched) putAllOwn(into, made as Json)
  }
}
/** Symbols, other than letters and digits, that a token may keep. */
const SYMBOLS = Array.from({ length: 95 }, (_none, i) => String.fromCharCode(i + 32)).filter((one) => /\W|_/.test(one))
const symbolKeepers = new WeakMap<Analyzer, boolean>()
const keepsSymbols = (analyzer: Analyzer): boolean => {
  let keeps = symbolKeepers.get(analyzer)
  if (keeps === undefined)
    symbolKeepers.set(analyzer, (keeps = SYMBOLS.some((symbol) => analyzer.indexesSymbol(symbol))))
  return keeps
}
/**
 * Ranks fields and elements by number of words in the window, words present, proximity, whole values, early positions.
 */
const scoreOf = (match: TextMatch): number =>
  match.words * 1e9 +
  match.present * 1e7 +
  (100 - match.distance) * 1e4 +
  (match.isWhole ? 1e3 : 0) +
  (match.present > 1 ? Math.max(0, 255 - match.offsets[match.offsets.length - 1]) : 0)
