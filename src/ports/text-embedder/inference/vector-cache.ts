/**
 * Recently computed vectors, by model, organization and a hash of the text: one organization's texts reveal nothing to
 * another, not even by response times. Queries and documents have separate bounds, because otherwise an import would
 * evict every query.
 */
import { createHash } from "node:crypto"
import { BoundedMap } from "@dowser/engine-sdk/host"
import type { EmbedRequest } from "../text-embedder.ts"

export interface CachedVector {
  readonly vector: Float32Array
  readonly tokens: number
}
type Priority = EmbedRequest["priority"]
const KEY_BYTES = 100
const bytesOf = (_key: string, { vector }: CachedVector): number => KEY_BYTES + 150 + vector.byteLength

export class VectorCache {
  readonly #known: Readonly<Record<Priority, BoundedMap<string, CachedVector>>>

  /** A third of the bytes is for queries. */
  constructor(bytes_max: number) {
    this.#known = {
      query: new BoundedMap({ bytes_max: bytes_max / 3, bytesOf }),
      document: new BoundedMap({ bytes_max: (bytes_max * 2) / 3, bytesOf })
    }
  }
  get bytes(): number {
    return this.#known.query.bytes + this.#known.document.bytes
  }
  keyOf({ model, organizationId }: EmbedRequest, text: string): string {
    return createHash("sha256").update(`${model}\n${organizationId}\n${text}`).digest("base64")
  }
  /** Looks in both caches. */
  get(key: string): CachedVector | undefined {
    for (const known of [this.#known.query, this.#known.document]) {
      const found = known.get(key)
      if (found === undefined) continue
      known.renew(key)
      return found
    }
    return undefined
  }
  set(priority: Priority, key: string, known: CachedVector): void {
    this.#known[priority].set(key, known)
  }
}
