/**
 * Question: what do vectors of an embedding model add to the ranking by words? Workload: documents and queries of a
 * judged set, embedded by this program's own model, which reads the first 256 word pieces, as it does for a field of
 * a collection. Both lists are fused in two ways, each with one weight for all queries: by ranks, as a search without
 * a named ranking does, and by the sum of scores that are scaled from 0 to 1 over the hits of either list. The
 * engine's `alpha` is w / (1 + w) for a weight w of the scores.
 */
import { Context, Effect, Layer, Scope } from "effect"
import { findInstalled, placesOf } from "../../src/models/install/places.ts"
import { readPinned } from "../../src/models/install/pinned.ts"
import { layerMiniLm } from "../../src/ports/text-embedder/minilm/model.ts"
import { MODEL_NAME } from "../../src/ports/text-embedder/minilm/layout.ts"
import { encodeModel, LsaModel } from "../../src/ports/text-embedder/lsa/model.ts"
import { LsaTraining } from "../../src/embedding/lsa/training.ts"
import { TextEmbedder } from "../../src/ports/text-embedder/text-embedder.ts"
import { type Judgments, mean, scoreOf } from "../../engine-sdk/src/judging/mod.ts"
import { readLines, round } from "../harness/harness.ts"
import { embeddingsMissing } from "./embeddings.ts"

interface JudgedQuery {
  readonly text: string
  readonly judgments: Judgments
}
interface RankedCollection {
  readonly ranked: (
    ranking: "relevance",
    q: string
  ) => Promise<ReadonlyArray<{ readonly document: { readonly id: string }; readonly text_match?: number }>>
}
const BATCH = 500
const WEIGHTS = [0, 0.1, 0.2, 0.3, 0.5, 1] as const
/** Length of each of the two lists. */
const POOL = 100

/** A document's text, in the order of the searched fields. Wildcards are attributes, and are left out. */
const textIn = (line: string, queryBy: string): readonly [id: string, text: string] => {
  const document = JSON.parse(line) as Readonly<Record<string, unknown>>
  const fields = queryBy
    .split(",")
    .map((name) => name.trim())
    .filter((name) => !name.includes("*"))
  const texts = fields.flatMap((name) => (typeof document[name] === "string" ? [document[name]] : []))
  return [String(document.id), texts.join(" ").trim()]
}
type Embed = (texts: ReadonlyArray<string>) => Promise<ReadonlyArray<Float32Array>>
const unit = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((x) => x / length)
}
const embedded = async (embed: Embed, texts: ReadonlyArray<string>): Promise<ReadonlyArray<Float32Array>> => {
  const made: Array<Float32Array> = []
  for (let from = 0; from < texts.length; from += BATCH) {
    made.push(...(await embed(texts.slice(from, from + BATCH))))
    process.stderr.write(`\r${made.length} of ${texts.length} texts embedded`)
  }
  process.stderr.write("\n")
  return made.map(unit)
}
const dot = (a: Float32Array, b: Float32Array): number => {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

interface Candidate {
  readonly id: string
  readonly isFound: boolean
  /** From 0 to 1. */ readonly words: number
  readonly meaning: number
}
const scaled = (values: ReadonlyArray<number>): ((value: number) => number) => {
  const least = Math.min(...values),
    span = Math.max(...values) - least
  return (value) => (span === 0 ? 1 : (value - least) / span)
}
/** The union of both lists, with both scores; a missing word score is 0. */
const pooled = (
  hits: ReadonlyArray<{ readonly document: { readonly id: string }; readonly text_match?: number }>,
  near: ReadonlyArray<readonly [id: string, cosine: number]>,
  cosineOf: (id: string) => number
): ReadonlyArray<Candidate> => {
  const found = new Map(hits.map(({ document, text_match = 0 }) => [document.id, text_match]))
  const ids = [...new Set([...found.keys(), ...near.map(([id]) => id)])]
  const words = found.size === 0 ? () => 0 : scaled([...found.values()])
  const cosines = scaled(ids.map(cosineOf))
  return ids.map((id) => {
    const text = found.get(id)
    return {
      id,
      isFound: text !== undefined,
      words: text === undefined ? 0 : words(text),
      meaning: cosines(cosineOf(id))
    }
  })
}
const fusedBy = (candidates: ReadonlyArray<Candidate>, weight: number): ReadonlyArray<string> =>
  candidates
    .map(({ id, meaning, words }) => ({ id, score: words + weight * meaning }))
    .sort((a, b) => b.score - a.score)
    .map(({ id }) => id)

/** Fuses as the engine does: a document's score is the sum, over both lists, of the list's share / rank (from 1). */
const ranksFused = (candidates: ReadonlyArray<Candidate>, alpha: number): ReadonlyArray<string> => {
  const ranks = new Map<string, number>()
  const add = (list: ReadonlyArray<Candidate>, share: number) =>
    list.forEach(({ id }, rank) => ranks.set(id, (ranks.get(id) ?? 0) + share / (rank + 1)))
  const found = candidates.filter(({ isFound }) => isFound)
  add(
    found.toSorted((a, b) => b.words - a.words),
    1 - alpha
  )
  add(candidates.toSorted((a, b) => b.meaning - a.meaning).slice(0, POOL), alpha)
  return [...ranks].sort(([, a], [, b]) => b - a).map(([id]) => id)
}

const ndcg = (queries: ReadonlyArray<JudgedQuery>, idsOf: (query: number) => ReadonlyArray<string>): number =>
  round(
    mean(
      queries.flatMap(({ judgments }, i) => {
        const score = scoreOf(idsOf(i), judgments)
        return score === undefined ? [] : [score.ndcg10]
      })
    ),
    4
  )

/** The model of this program, as it is installed. */
const withModel = async <A>(use: (embed: Embed) => Promise<A>): Promise<A> => {
  const folder = findInstalled(placesOf("", undefined), readPinned())
  if (folder === undefined) throw new Error(embeddingsMissing())
  return Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const layer = layerMiniLm({ installed: () => ({ state: "installed", folder }) })
        const embedder = Context.get(yield* Layer.buildWithScope(layer, yield* Scope.Scope), TextEmbedder)
        return yield* Effect.promise(() =>
          use(async (texts) => {
            const request = { model: MODEL_NAME, texts, priority: "document", organizationId: "org_a" } as const
            return (await Effect.runPromise(embedder.embed(request))).vectors
          })
        )
      })
    )
  )
}

/** A model that is trained on the documents themselves. */
const withTrained = <A>(texts: ReadonlyArray<string>, use: (embed: Embed) => Promise<A>): Promise<A> => {
  const training = new LsaTraining()
  for (const text of texts) training.add(text)
  const began = performance.now()
  const model = new LsaModel(encodeModel(training.trained()))
  process.stderr.write(`trained in ${Math.round(performance.now() - began)} ms\n`)
  return use((asked) => Promise.resolve(asked.map((text) => model.embed(text).vector)))
}

interface MeaningOptions {
  readonly docs: string
  readonly queryBy: string
  readonly embedder: "minilm" | "lsa"
}
/** nDCG@10 for each weight, and for vectors alone. Embedding the documents takes some minutes. */
export const meaningFigures = async (
  collection: RankedCollection,
  queries: ReadonlyArray<JudgedQuery>,
  { docs, embedder, queryBy }: MeaningOptions
): Promise<Readonly<Record<string, number>>> => {
  const texts = (await readLines(docs)).map((line) => textIn(line, queryBy))
  const contents = texts.map(([, text]) => text)
  const withChosen = (use: (embed: Embed) => Promise<Readonly<Record<string, number>>>) =>
    embedder === "lsa" ? withTrained(contents, use) : withModel(use)
  return withChosen(async (embed) => {
    const vectors = await embedded(embed, contents)
    const place = new Map(texts.map(([id], i) => [id, i]))
    const asked = await embedded(
      embed,
      queries.map(({ text }) => text)
    )
    const near = asked.map((query) =>
      vectors
        .map((vector, i) => [texts[i]![0], dot(query, vector)] as const)
        .sort(([, a], [, b]) => b - a)
        .slice(0, POOL)
    )
    const pools: Array<ReadonlyArray<Candidate>> = []
    for (const [i, { text }] of queries.entries()) {
      const hits = await collection.ranked("relevance", text)
      pools.push(pooled(hits, near[i]!, (id) => dot(asked[i]!, vectors[place.get(id)!]!)))
    }
    const words = texts.reduce((sum, [, text]) => sum + text.split(/\s+/).length, 0) / texts.length
    return {
      words_per_document: round(words, 1),
      words_per_query: round(mean(queries.map(({ text }) => text.split(/\s+/).length)), 1),
      vectors_alone: ndcg(queries, (i) => near[i]!.map(([id]) => id)),
      ...Object.fromEntries(
        WEIGHTS.flatMap((weight) => [
          [`scores_${weight}`, ndcg(queries, (i) => fusedBy(pools[i]!, weight))],
          [`ranks_${weight}`, ndcg(queries, (i) => ranksFused(pools[i]!, weight))]
        ])
      )
    }
  })
}
