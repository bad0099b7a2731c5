/** Descriptions of the key operations, each with a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

export const described = {
  listKeys: {
    description:
      "Lists every key of the organization with its restrictions, except those that were revoked. Values are never shown again; `value_prefix` identifies a key.",
    example: {}
  },
  createKey: {
    description:
      "Creates a key and shows its value this once; only hashes are stored. A key cannot create one that is wider than itself: collections, filters, fields, addresses, origins and rate are at most its own, otherwise 403. The plan bounds the number of keys (403 with `feature` and `limit`), and a chosen `value` that is already in use is a 409.",
    example: {
      body: {
        description: "Storefront",
        scope: "search",
        collections: ["products"],
        filter_by: { products: "discontinued:=false" },
        origins: ["https://shop.example"],
        rate_limit_per_minute: 600
      }
    }
  },
  getKey: {
    description:
      "Shows one key with its restrictions, without its value. A revoked key, or one of another organization, is a 404.",
    example: { params: { keyId: sampleIds.key } }
  },
  deleteKey: {
    description:
      "Revokes a key: the next request with it answers 401, and so do the browser keys and scoped tokens that were made with it. Its hash is kept for the audit log. This cannot be undone; create another key instead.",
    example: { params: { keyId: sampleIds.leakedKey } }
  },
  createBrowserKey: {
    description:
      "Signs a search key that works for `ttl_seconds` (60 to 86,400, an hour by default) and is not stored, so a server may mint one for each visitor. It is never wider than the key that mints it, and ends early with that key. With `profile` it searches by that profile alone, and ends with the profile too. The plan bounds how many are minted per hour; beyond that the answer is 403 with `feature` and `limit`.",
    example: { body: { ttl_seconds: 3600, collections: ["products"], filter_by: { products: "discontinued:=false" } } }
  }
} as const satisfies Readonly<Record<string, Described>>
