/**
 * The report on an entity or a community. Every line is counted, none is free text, and each names documents that
 * support it.
 */
import type { Edge } from "./edges.ts"
import { entitiesByDocument, type KeptEntities, type NamedArray } from "./kept-entities.ts"

interface Fact {
  readonly text: string
  readonly document_ids: ReadonlyArray<string>
}
interface Link extends Omit<Edge, "a" | "b" | "npmi" | "weight"> {
  readonly a: string
  readonly b: string
  readonly document_ids: ReadonlyArray<string>
}
export interface Report {
  readonly facts: ReadonlyArray<Fact>
  readonly links: ReadonlyArray<Link>
  readonly documents: ReadonlyArray<string>
}
/** What visitors did, if known. */
export interface Behaviour {
  /** By document, over `days` days. */ readonly revenue: ReadonlyMap<string, number>
  readonly days: number
  /** Most frequent first. */ readonly queries: ReadonlyArray<{
    readonly key: string
    readonly q: string
    readonly count: number
  }>
}

const CATEGORY = /categor|department|section|genre|topic/i
const MOSTLY = 0.5
const TITLE_MEMBERS = 3
const LINKS = 5,
  MEDOIDS = 3,
  TYPES = 3,
  QUERIES = 3
const BEHIND_FACT = 5
const numbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 })
const counted = (n: number, noun: string) => `${numbers.format(n)} ${noun}${n === 1 ? "" : "s"}`

/** Lowest and highest price of documents, with a document for each. */
const pricesOf = (
  { prices }: KeptEntities,
  documents: Iterable<number>
): readonly [low: number, high: number] | undefined => {
  let low: number | undefined, high: number | undefined
  for (const document of documents) {
    const price = prices[document]
    if (price === undefined) continue
    if (low === undefined || price < prices[low]!) low = document
    if (high === undefined || price > prices[high]!) high = document
  }
  return low === undefined || high === undefined ? undefined : [low, high]
}

export class Reports {
  readonly #kept: KeptEntities
  readonly #ofDocument: NamedArray
  readonly #behaviour: Behaviour
  readonly #revenue: number
  /** How often each entity and document was encountered while describing one entity or community. */
  readonly #met: Int32Array
  readonly #named: Int32Array

  constructor(kept: KeptEntities, behaviour: Behaviour) {
    this.#kept = kept
    this.#behaviour = behaviour
    this.#ofDocument = entitiesByDocument(kept)
    this.#met = new Int32Array(kept.count)
    this.#named = new Int32Array(kept.documentIds.length)
    this.#revenue = kept.documentIds.reduce((sum, id) => sum + (behaviour.revenue.get(id) ?? 0), 0)
  }
  nameOf(entity: number): string {
    return this.#kept.writings[entity]![0]!
  }
  documentsOf(entity: number): Int32Array {
    return this.#kept.documents.subarray(this.#kept.starts[entity]!, this.#kept.starts[entity + 1]!)
  }
  #ids(documents: Iterable<number>, most: number): ReadonlyArray<string> {
    const found: Array<string> = []
    for (const document of documents) {
      if (found.length >= most) break
      found.push(this.#kept.documentIds[document]!)
    }
    return found
  }

  /** `brand, 214 documents, mostly in Monitors, 79 - 1,299`. */
  description(entity: number): string {
    const documents = this.documentsOf(entity)
    const type = this.#kept.type[entity]!
    const category = this.#strongest(documents, (other) => other !== type && CATEGORY.test(other))
    const prices = pricesOf(this.#kept, documents)
    const range = prices?.map((document) => numbers.format(this.#kept.prices[document]!))
    return [
      type,
      counted(documents.length, "document"),
      ...(category !== undefined && category.count > MOSTLY * documents.length
        ? [`mostly in ${this.nameOf(category.entity)}`]
        : []),
      ...(range === undefined ? [] : [range[0] === range[1] ? range[0]! : range.join(" - ")])
    ].join(", ")
  }
  /** The entity that most of the given documents name. */
  #strongest(
    documents: Iterable<number>,
    isAsked: (type: string) => boolean
  ): { readonly entity: number; readonly count: number } | undefined {
    const touched: Array<number> = []
    for (const document of documents)
      for (let at = this.#ofDocument.starts[document]!; at < this.#ofDocument.starts[document + 1]!; at++) {
        const entity = this.#ofDocument.entities[at]!
        if (isAsked(this.#kept.type[entity]!) && this.#met[entity]!++ === 0) touched.push(entity)
      }
    let best: number | undefined
    for (const entity of touched)
      if (
        best === undefined ||
        this.#met[entity]! > this.#met[best]! ||
        (this.#met[entity] === this.#met[best] && entity < best)
      )
        best = entity
    const found = best === undefined ? undefined : { entity: best, count: this.#met[best]! }
    for (const entity of touched) this.#met[entity] = 0
    return found
  }

  /** `edges` are the edges between members. */
  of(members: ReadonlyArray<number>, edges: ReadonlyArray<Edge>): { readonly title: string; readonly report: Report } {
    const { documents, named } = this.#about(members)
    const medoids = this.#medoids(members, edges, documents)
    return {
      title: this.#title(members, named),
      report: {
        facts: this.#facts(members, documents, medoids),
        links: [...edges]
          .sort((x, y) => y.weight - x.weight || y.support - x.support || x.a - y.a || x.b - y.b)
          .slice(0, LINKS)
          .map(({ a, b, support }) => ({
            a: this.nameOf(a),
            b: this.nameOf(b),
            support,
            document_ids: this.#ids(this.#both(a, b), MEDOIDS)
          })),
        documents: medoids
      }
    }
  }
  /** Documents that name at least two members, by id, and how many name each member. */
  #about(members: ReadonlyArray<number>): {
    readonly documents: ReadonlyArray<number>
    readonly named: ReadonlyMap<number, number>
  } {
    const touched: Array<number> = []
    for (const member of members)
      for (const document of this.documentsOf(member)) if (this.#named[document]!++ === 0) touched.push(document)
    const documents = touched.filter((document) => this.#named[document]! > 1).sort((a, b) => a - b)
    const named = new Map<number, number>()
    for (const member of members) {
      let n = 0
      for (const document of this.documentsOf(member)) if (this.#named[document]! > 1) n++
      named.set(member, n)
    }
    for (const document of touched) this.#named[document] = 0
    return { documents, named }
  }
  /** Three members that are typical of this community (class-based tf-idf). */
  #title(members: ReadonlyArray<number>, named: ReadonlyMap<number, number>): string {
    const all = this.#kept.documentIds.length
    const scored = members.map((member) => ({
      member,
      score:
        named.get(member)! *
        Math.log(1 + all / this.documentsOf(member).length) *
        this.#kept.weight.get(this.#kept.type[member]!)!
    }))
    const seen = new Set<string>()
    return scored
      .sort((a, b) => b.score - a.score || a.member - b.member)
      .map(({ member }) => this.nameOf(member))
      .filter((name) => !seen.has(name.toLowerCase()) && seen.add(name.toLowerCase()))
      .slice(0, TITLE_MEMBERS)
      .join(", ")
  }
  /** The documents whose entities have the strongest relations within the community. */
  #medoids(
    members: ReadonlyArray<number>,
    edges: ReadonlyArray<Edge>,
    documents: ReadonlyArray<number>
  ): ReadonlyArray<string> {
    const strength = new Map<number, number>(members.map((member) => [member, 0]))
    for (const { a, b, weight } of edges) for (const side of [a, b]) strength.set(side, strength.get(side)! + weight)
    const score = (document: number): number => {
      let sum = 0
      for (let at = this.#ofDocument.starts[document]!; at < this.#ofDocument.starts[document + 1]!; at++)
        sum += strength.get(this.#ofDocument.entities[at]!) ?? 0
      return sum
    }
    const best: Array<{ readonly document: number; readonly score: number }> = []
    for (const document of documents) {
      const own = { document, score: score(document) }
      if (best.length === MEDOIDS && own.score <= best[MEDOIDS - 1]!.score) continue
      best.push(own)
      best.sort((a, b) => b.score - a.score || a.document - b.document)
      if (best.length > MEDOIDS) best.pop()
    }
    return best.map(({ document }) => this.#kept.documentIds[document]!)
  }
  #facts(
    members: ReadonlyArray<number>,
    documents: ReadonlyArray<number>,
    medoids: ReadonlyArray<string>
  ): ReadonlyArray<Fact> {
    const facts: Array<Fact> = [
      {
        text: `${members.length} entities, two of which ${counted(documents.length, "document")} name at least`,
        document_ids: medoids
      }
    ]
    const prices = pricesOf(this.#kept, documents)
    if (prices !== undefined)
      facts.push({
        text: `Prices from ${prices.map((document) => numbers.format(this.#kept.prices[document]!)).join(" to ")}`,
        document_ids: this.#ids(new Set(prices), 2)
      })
    facts.push(...this.#typeFacts(documents), ...this.#revenueFacts(documents), ...this.#queryFacts(members))
    return facts
  }
  /** Values that most documents of the community have, for the most informative types. */
  #typeFacts(documents: ReadonlyArray<number>): ReadonlyArray<Fact> {
    const found: Array<{ readonly entity: number; readonly count: number }> = []
    const inside = new Set(documents)
    for (const [type] of this.#kept.weight) {
      const strongest = type === "term" ? undefined : this.#strongest(documents, (other) => other === type)
      if (strongest !== undefined && strongest.count > 1) found.push(strongest)
    }
    return found
      .sort((a, b) => b.count - a.count || a.entity - b.entity)
      .slice(0, TYPES)
      .map(({ count, entity }) => ({
        text: `${this.#kept.type[entity]!}: ${this.nameOf(entity)} in ${numbers.format(count)} of ${counted(documents.length, "document")}`,
        document_ids: this.#ids(
          this.documentsOf(entity).filter((document) => inside.has(document)),
          BEHIND_FACT
        )
      }))
  }
  #revenueFacts(documents: ReadonlyArray<number>): ReadonlyArray<Fact> {
    const { days, revenue } = this.#behaviour
    const sold = documents
      .map((document) => ({ document, revenue: revenue.get(this.#kept.documentIds[document]!) ?? 0 }))
      .filter((each) => each.revenue > 0)
      .sort((a, b) => b.revenue - a.revenue || a.document - b.document)
    const sum = sold.reduce((total, each) => total + each.revenue, 0)
    if (sum <= 0 || this.#revenue <= 0) return []
    return [
      {
        text: `${numbers.format((100 * sum) / this.#revenue)} % of the revenue of ${days} days`,
        document_ids: this.#ids(
          sold.map(({ document }) => document),
          BEHIND_FACT
        )
      }
    ]
  }
  #queryFacts(members: ReadonlyArray<number>): ReadonlyArray<Fact> {
    const byKey = new Map<string, number>()
    for (const member of members) if (!byKey.has(this.#kept.key[member]!)) byKey.set(this.#kept.key[member]!, member)
    const facts: Array<Fact> = []
    for (const { count, key, q } of this.#behaviour.queries) {
      const member = byKey.get(key)
      if (member === undefined) continue
      facts.push({
        text: `Searched for: ${q}, ${counted(count, "time")}`,
        document_ids: this.#ids(this.documentsOf(member), BEHIND_FACT)
      })
      if (facts.length === QUERIES) break
    }
    return facts
  }
  /** Documents that name both, by id. */
  *#both(a: number, b: number): Generator<number> {
    const [ofA, ofB] = [this.documentsOf(a), this.documentsOf(b)]
    for (let i = 0, j = 0; i < ofA.length && j < ofB.length;) {
      if (ofA[i] === ofB[j]) {
        yield ofA[i]!
        i++
        j++
      } else if (ofA[i]! < ofB[j]!) i++
      else j++
    }
  }
}
