/** The searches of one answer: candidates first, then, if there are too few, fallbacks; the newest last. */
import { type CollectionSchema, type Hit, ok } from "@dowser/engine-sdk"
import type { Outcome } from "../search/asked-search.ts"
import type { ChosenAsked } from "../search/chosen-documents.ts"
import { type AnyCandidate, categoryFirst, type Document, hitsOf, valuesOf } from "./fill-answer.ts"
import type { Candidate } from "../recommendation-models/live/messages.ts"
import type { ModelType } from "../recommendation-models/params.ts"
import type { Recommended } from "./schema.ts"

export interface Wanted {
  readonly type: ModelType
  readonly params: Readonly<Record<string, unknown>>
  readonly seeds: ReadonlyArray<string>
  /** Includes the seeds. */ readonly excluded: ReadonlySet<string>
  readonly candidates: ReadonlyArray<Candidate>
  readonly limit: number
  /** Field that holds the category. */ readonly category: string | undefined
  readonly schema: CollectionSchema | undefined
  /** Whether the caller did not request the field `id`. */ readonly hidesId: boolean
}
/** Fields with the seed's values. */
type Likenesses = ReadonlyArray<readonly [field: string, values: ReadonlyArray<unknown>]>
interface DocumentSource {
  readonly find: (asked: ChosenAsked) => Promise<Outcome<ReadonlyArray<Hit>>>
}
type Hits = Recommended["hits"]
/** The largest page of one search. */
const PAGE_MAX = 250
/** Spare candidates of the first search, because some of those that an answer needs are filtered out. */
const FIRST_SPARE = 14
const WORDS_OF_A_SEED = 8

const idOf = ({ document }: Hit): string => String(document.id)
const quoted = (value: unknown): string => `\`${String(value).replaceAll("`", "")}\``

export class Answering {
  readonly #source: DocumentSource
  readonly #wanted: Wanted
  readonly #documents = new Map<string, Document>()
  #candidates: Array<AnyCandidate>

  constructor(documents: DocumentSource, wanted: Wanted) {
    this.#source = documents
    this.#wanted = wanted
    this.#candidates = wanted.candidates.filter(({ id }) => !wanted.excluded.has(id))
  }

  /** Runs one search if its candidates suffice, and at most five. */
  async hits(): Promise<Outcome<Hits>> {
    const { limit, type } = this.#wanted
    if (type === "similar") {
      const similar = await this.#findSimilar()
      if (!similar.ok) return similar
    }
    const steps = [limit + FIRST_SPARE, PAGE_MAX]
    for (let at = 0, step = 0; at < this.#candidates.length && step < steps.length && !this.#isFull(); step++) {
      const next = this.#candidates.slice(at, at + Math.min(PAGE_MAX, steps[step]!))
      at += next.length
      // The seed is fetched too, because popular documents of its category are placed first.
      const seeds = step === 0 ? this.#wanted.seeds.slice(-1) : []
      const found = await this.#fetch([...next.map(({ id }) => id), ...seeds])
      if (!found.ok) return found
    }
    if (!this.#isFull()) {
      const newest = await this.#findNewest()
      if (!newest.ok) return newest
    }
    return ok(this.#shown())
  }
  #isFull(): boolean {
    return this.#ranked().length >= this.#wanted.limit
  }
  #ranked(): Hits {
    const { category, limit, seeds } = this.#wanted
    const seed = this.#documents.get(seeds.at(-1) ?? "")
    return hitsOf(categoryFirst(this.#candidates, this.#documents, seed, category), this.#documents, limit)
  }
  #shown(): Hits {
    const hits = this.#ranked()
    return this.#wanted.hidesId
      ? hits.map((hit) => {
          const { id: _, ...document } = hit.document
          return { ...hit, document }
        })
      : hits
  }
  async #fetch(ids: ReadonlyArray<string>): Promise<Outcome<void>> {
    const found = await this.#source.find({ ids, limit: Math.min(PAGE_MAX, ids.length) })
    if (!found.ok) return found
    const wanted = new Set(ids)
    for (const hit of found.value) if (wanted.has(idOf(hit))) this.#documents.set(idOf(hit), hit.document)
    return ok(undefined)
  }

  /** The last fallback; the engine's order of `*` is newest first. */
  async #findNewest(): Promise<Outcome<void>> {
    const { excluded, limit } = this.#wanted
    const page = Math.min(PAGE_MAX, limit + excluded.size + this.#ranked().length)
    const found = await this.#source.find({ limit: page })
    if (!found.ok) return found
    this.#add(found.value, "newest", () => 0)
    return ok(undefined)
  }
  #add(hits: ReadonlyArray<Hit>, kind: "newest" | "similar", scoreOf: (hit: Hit, i: number) => number): void {
    const { excluded } = this.#wanted
    const known = new Set(this.#ranked().map(({ document }) => String(document.id)))
    const more = hits.filter((hit) => !excluded.has(idOf(hit)) && !known.has(idOf(hit)))
    const added = more.map((hit, i) => {
      this.#documents.set(idOf(hit), hit.document)
      const source = kind === "similar" ? this.#wanted.seeds.at(-1) : undefined
      return { id: idOf(hit), kind, score: scoreOf(hit, i), ...(source === undefined ? {} : { source }) }
    })
    const rest = this.#candidates.filter(({ id }) => kind === "newest" || !added.some((one) => one.id === id))
    this.#candidates = kind === "newest" ? [...rest, ...added] : [...added, ...rest]
  }

  /** By vectors if the model names a vector field, else by shared values of facets and words of the text. */
  async #findSimilar(): Promise<Outcome<void>> {
    const { limit, params, seeds } = this.#wanted
    const seedId = seeds.at(-1)
    if (seedId === undefined) return ok(undefined)
    const page = Math.min(PAGE_MAX, limit + FIRST_SPARE)
    if (typeof params.vector_field === "string") {
      const near = await this.#source.find({
        limit: page,
        parameters: { vector_query: `${params.vector_field}:([], id: ${seedId}, k: ${page})` }
      })
      // A seed without a vector, or a deleted one, has no neighbours.
      if (near.ok) this.#add(near.value, "similar", ({ vector_distance = 1 }) => 1 - vector_distance)
      return ok(undefined)
    }
    const fetched = await this.#fetch([seedId])
    const seed = this.#documents.get(seedId)
    if (!fetched.ok || seed === undefined) return fetched
    const fields = this.#likenesses(seed)
    if (fields.length === 0) return ok(undefined)
    const found = await this.#source.find({ limit: page, parameters: this.#likeSeed(seed, fields) })
    if (!found.ok) return found
    const shared = ({ document }: Hit) =>
      fields.filter(([field, values]) => valuesOf(document, field).some((value) => values.includes(value))).length
    const best = [...found.value].sort((a, b) => shared(b) - shared(a))
    this.#add(best, "similar", (hit) => shared(hit) / fields.length)
    return ok(undefined)
  }
  /** Facets of the model, else of the collection, in which the seed has a value. */
  #likenesses(seed: Document): Likenesses {
    const { params, schema } = this.#wanted
    const own = (schema?.fields ?? []).filter(
      ({ facet, name, type }) => facet === true && (type === "string" || type === "string[]") && !name.includes("*")
    )
    const names = Array.isArray(params.fields) ? (params.fields as ReadonlyArray<string>) : own.map(({ name }) => name)
    return own
      .filter(({ name }) => names.includes(name))
      .map(({ name }) => [name, valuesOf(seed, name)] as const)
      .filter(([, values]) => values.length > 0)
  }
  #likeSeed(seed: Document, fields: Likenesses): Readonly<Record<string, string>> {
    const text = this.#wanted.schema?.fields.find(
      ({ index, name, type }) =>
        index && type === "string" && typeof valuesOf(seed, name)[0] === "string" && !name.includes("*")
    )?.name
    const sharing = fields.map(([field, values]) => `${field}:=[${values.map(quoted).join(",")}]`).join(" || ")
    const words = text === undefined ? [] : String(valuesOf(seed, text)[0]).split(/\s+/).slice(0, WORDS_OF_A_SEED)
    return {
      filter_by: sharing,
      ...(text === undefined || words.length === 0
        ? {}
        : { q: words.join(" "), query_by: text, drop_tokens_threshold: String(PAGE_MAX) })
    }
  }
}
