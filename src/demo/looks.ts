/**
 * The shop's pictures as a separate collection, for searches by picture. It is created when a visitor first needs it:
 * indexing a picture takes some ten milliseconds of a core, and most demos never need it.
 */
import { createCollection } from "@dowser/engine-sdk/operations"
import type { Document, Result } from "@dowser/engine-sdk"
import { Effect, Scope } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { ImageEmbedder } from "../ports/image-embedder/image-embedder.ts"
import { Engine } from "../ports/engine/engine.ts"
import { drawnFrom, SHOWS } from "./pictures.ts"

/** Name of the picture collection, from that of the products. */
export const looksOf = (collection: string): string => `${collection}_pictures`

/** Progress for a waiting visitor: `done` of `total` products can be found by picture. */
export interface Looked {
  readonly status: "working" | "ready" | "failed"
  readonly done: number
  readonly total: number
}

/** Documents per write: half a second of the process that analyses pictures. */
const PAGE = 32
/** Pixels per side. A picture is recognized from 70 % of its size on, and the page shows 160. */
const SIDE = 128
const RETRY_MS = 1_000
const RETRIES_MAX = 60
/** Fields of a hit. */
const CARD = ["id", "title", "category", "price", "list_price", "rating", "in_stock"]

const schemaOf = (name: string, model_name: string) => ({
  name,
  fields: [
    { name: "title", type: "string" },
    { name: "category", type: "string", facet: true },
    { name: "price", type: "float" },
    { name: "list_price", type: "float" },
    { name: "rating", type: "float" },
    { name: "in_stock", type: "bool" },
    { name: "picture", type: "image", store: false, optional: true },
    { name: "look", type: "float[]", optional: true, embed: { from: ["picture"], model_config: { model_name } } }
  ]
})
/** A product with its picture, which takes some 3 ms to draw. */
const withPicture = (product: Document): Document => {
  const { category, id, in_stock, list_price, price, rating, title } = product
  const picture = drawnFrom(String(id), product, SIDE).toString("base64")
  return { id, title, category, price, list_price, rating, in_stock, picture }
}

/** Writes products with their pictures; refused documents are retried. */
const makeWritten = Effect.map(Engine, (engine) =>
  Effect.fnUntraced(function* (organizationId: string, into: string, documents: ReadonlyArray<Document>) {
    let left = documents
    for (let tries = 0; left.length > 0; tries++) {
      const asked = left
      const answer = yield* Effect.promise(() =>
        engine.write(
          organizationId,
          into,
          asked.map((document) => ({ kind: "put", action: "upsert", dirtyValues: undefined, document }))
        )
      )
      const results = answer.ok ? answer.value.map(({ result }) => result) : asked.map(() => answer)
      const refused = results.find(({ ok }) => !ok)
      if (refused === undefined) return
      left = asked.filter((_, i) => !results[i]!.ok)
      if (tries >= RETRIES_MAX) return yield* Effect.die(new Error(refused.ok ? "refused" : refused.error.message))
      yield* Effect.sleep(RETRY_MS)
    }
  })
)

const makeFill = Effect.gen(function* () {
  const engine = yield* Engine
  const contextOf = yield* makeContexts
  const { model } = yield* ImageEmbedder
  const written = yield* makeWritten
  const taken = <A>(asked: () => Promise<Result<A>> | Result<A>) =>
    Effect.flatMap(
      Effect.promise(async () => asked()),
      (answer) => (answer.ok ? Effect.succeed(answer.value) : Effect.die(new Error(answer.error.message)))
    )
  const read = (organizationId: string, from: string, ids: ReadonlyArray<string>, include: ReadonlyArray<string>) =>
    taken(() => engine.get(organizationId, from, ids, { include, exclude: [], joins: [] }))
  /** Reports the number of products done, after each page. */
  return Effect.fnUntraced(function* (organizationId: string, collection: string, report: (done: number) => void) {
    const into = looksOf(collection)
    if (engine.describeCollection(organizationId, into) === undefined)
      yield* taken(() => createCollection(contextOf(organizationId), JSON.stringify(schemaOf(into, model.name))))
    let after: number | undefined
    let done = 0
    do {
      const at = after
      const { ids, next } = yield* taken(() =>
        engine.scan(organizationId, {
          collection,
          filter: undefined,
          limit: PAGE,
          selection: { include: ["id"], exclude: [], joins: [] },
          ...(at === undefined ? {} : { after: at })
        })
      )
      const there = yield* read(organizationId, into, ids, ["id"])
      const missing = ids.filter((_, i) => there[i] === undefined)
      const documents: Array<Document> = []
      for (const product of yield* read(organizationId, collection, missing, [...CARD, ...SHOWS])) {
        if (product === undefined) continue
        documents.push(withPicture(product))
        // Leaves the thread to others for about as long.
        yield* Effect.sleep(3)
      }
      yield* written(organizationId, into, documents)
      done += ids.length
      report(done)
      after = next
    } while (after !== undefined)
  })
})

export const makeLooks = Effect.gen(function* () {
  const engine = yield* Engine
  const scope = yield* Scope.Scope
  const fill = yield* makeFill
  const states = new Map<string, Looked>()
  /** Returns the progress; the first call starts indexing, and a call after a failure restarts it. */
  return Effect.fnUntraced(function* (organizationId: string, collection: string) {
    const known = states.get(collection)
    if (known !== undefined && known.status !== "failed") return known
    const total = engine.describeCollection(organizationId, collection)?.num_documents ?? 0
    const begun: Looked = { status: "working", done: 0, total }
    states.set(collection, begun)
    const filling = fill(organizationId, collection, (done) => {
      states.set(collection, { status: "working", done: Math.min(done, total), total })
    })
    const ended = Effect.matchCauseEffect(filling, {
      onSuccess: () => Effect.sync(() => states.set(collection, { status: "ready", done: total, total })),
      onFailure: (cause) => {
        states.set(collection, { ...begun, status: "failed" })
        return Effect.logError("The demo shop's pictures could not be looked at", cause)
      }
    })
    yield* Effect.forkIn(ended, scope)
    return begun
  })
})
