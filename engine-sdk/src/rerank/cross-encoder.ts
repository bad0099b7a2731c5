/**
 * A model behind HTTP that reads query and document together. Texts are sent in chunks, best ranked first, so that
 * scores received before time runs out can be used. Responses may have the form `{scores}`,
 * `{results: [{index, relevance_score}]}` or a bare list of `{index, score}`, the three forms in use.
 */
import { isObject } from "../documents/json.ts"
import type { Candidate } from "../stage/stage.ts"
import type { Reranker } from "./reranker.ts"

export interface CrossEncoderOptions {
  readonly name: string
  readonly endpoint: string
  /** Sent as `model`. */ readonly model?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The server's name for the texts; default: `documents`. */ readonly documentsKey?: "documents" | "texts"
  /** Documents per request. */ readonly chunk?: number
  /** Sends the requests; the caller decides whether and how its network is reached. */ readonly fetch: (
    url: string,
    request: {
      readonly method: "POST"
      readonly headers: Record<string, string>
      readonly body: string
      readonly signal: AbortSignal
    }
  ) => Promise<{ readonly ok: boolean; readonly status: number; json(): Promise<unknown> }>
}
const CHUNK = 16
const TEXT_MAX = 4_000

/**
 * Throws if a response is not successful or has no scores for its documents. One request at a time.
 *
 * @example
 * ```ts
 * import { createSearch } from "@dowser/engine-sdk"
 * import { crossEncoder } from "@dowser/engine-sdk/rerank"
 *
 * const products = createSearch({
 *   rerankers: { mine: crossEncoder({ name: "mine", endpoint: "http://127.0.0.1:8080/rerank", fetch }) },
 *   rules: { rerank: { enabled: true, model: "mine", fields: ["title"] } }
 * })
 * ```
 */
export const crossEncoder = (options: CrossEncoderOptions): Reranker => ({
  name: options.name,
  score: async ({ candidates, fields, context, scores }) => {
    const chunk = options.chunk ?? CHUNK
    for (
      let from = 0;
      from < candidates.length && !context.signal.aborted && context.timeLeft_ms() > 0;
      from += chunk
    ) {
      const texts = candidates.slice(from, from + chunk).map((candidate) => textOf(candidate, fields))
      const found = await ask(options, context.request.q, texts, context.signal)
      if (found === undefined) return
      found.forEach((score, i) => {
        scores[from + i] = score
      })
    }
  }
})
const textOf = (candidate: Candidate, fields: ReadonlyArray<string>): string =>
  fields
    .map((field) => candidate.value(field))
    .filter((value) => value !== undefined && !(value instanceof Float32Array))
    .join(" ")
    .slice(0, TEXT_MAX)

/** Requests scores for a chunk; undefined if the request was aborted. */
const ask = async (
  { documentsKey = "documents", name, endpoint, model, headers, fetch }: CrossEncoderOptions,
  query: string,
  documents: ReadonlyArray<string>,
  signal: AbortSignal
): Promise<ReadonlyArray<number> | undefined> => {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ ...(model === undefined ? {} : { model }), query, [documentsKey]: documents }),
      signal
    })
    if (!response.ok) throw new Error(`the model \`${name}\` answered ${response.status}`)
    return scoresOf(await response.json(), documents.length, name)
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}
const scoresOf = (answer: unknown, count: number, name: string): ReadonlyArray<number> => {
  const list: unknown = isObject(answer) ? (answer.scores ?? answer.results) : answer
  const scores = new Array<number>(count).fill(NaN)
  if (Array.isArray(list))
    list.forEach((entry: unknown, i) => {
      const index = isObject(entry) ? entry.index : i
      const score = isObject(entry) ? (entry.relevance_score ?? entry.score) : entry
      if (typeof index === "number" && index in scores && typeof score === "number" && Number.isFinite(score))
        scores[index] = score
    })
  if (scores.some((score) => Number.isNaN(score)))
    throw new Error(`the model \`${name}\` answered without a score for each document`)
  return scores
}
