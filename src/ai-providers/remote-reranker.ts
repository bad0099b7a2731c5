/** A reranker on another server, as the engine package's cross-encoder: every call goes through `OutboundHttp`. */
import { Effect } from "effect"
import { crossEncoder, type Reranker } from "@dowser/engine-sdk/rerank"
import type { OutboundHttp } from "../ports/outbound-http/outbound-http.ts"
import type { ProviderBody } from "./schema.ts"

/** Its name in rules and requests (`rerank.model`, `rerank_model`). */
export const CROSS_ENCODER = "cross-encoder"
const ANSWER_BYTES_MAX = 1_000_000
const TIMEOUT_MS = 10_000

interface Shape {
  readonly home: string | undefined
  readonly path: string
  readonly documentsKey: "documents" | "texts"
}
const shapes: ReadonlyMap<string, Shape> = new Map([
  ["tei", { home: undefined, path: "/rerank", documentsKey: "texts" }],
  ["cohere", { home: "https://api.cohere.com", path: "/v2/rerank", documentsKey: "documents" }],
  ["jina", { home: "https://api.jina.ai", path: "/v1/rerank", documentsKey: "documents" }]
])

/** Undefined if no address is known. */
export const remoteReranker = (
  http: OutboundHttp["Service"],
  { api_key, kind, model, url }: ProviderBody
): Reranker | undefined => {
  const shape = shapes.get(kind)
  const base = url ?? shape?.home
  if (shape === undefined || base === undefined) return undefined
  const bare = base.replace(/\/+$/, "")
  return crossEncoder({
    name: CROSS_ENCODER,
    endpoint: bare.endsWith("/rerank") ? bare : bare + shape.path,
    documentsKey: shape.documentsKey,
    ...(model === undefined ? {} : { model }),
    ...(api_key === undefined ? {} : { headers: { authorization: `Bearer ${api_key}` } }),
    fetch: async (address, { body, headers, signal }) => {
      const sent = http.send({
        method: "POST",
        url: address,
        headers,
        body,
        timeout_ms: TIMEOUT_MS,
        responseBytesMax: ANSWER_BYTES_MAX
      })
      const { body: bytes, isTruncated, status } = await Effect.runPromise(sent, { signal })
      return {
        ok: status >= 200 && status < 300 && !isTruncated,
        status,
        json: async () => JSON.parse(new TextDecoder().decode(bytes)) as unknown
      }
    }
  })
}
