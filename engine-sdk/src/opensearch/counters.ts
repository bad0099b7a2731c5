/**
 * Numbers that are given once in the whole cluster: keys of collections, and insertion numbers, taken for a whole batch
 * so that batches are in the order in which they were written. A number that was taken and not used is not missed.
 */
import { ok, type Result } from "../errors.ts"
import type { ClusterClient } from "./client.ts"
import type { ClusterNames } from "./placement.ts"

/** Others that take from the same counter at the same moment. */
const RETRIES = 20
const ADD = "ctx._source.next += params.count"

export class Counters {
  readonly #client: ClusterClient
  readonly #index: string
  constructor(client: ClusterClient, { counters }: ClusterNames) {
    this.#client = client
    this.#index = counters
  }
  /** The first of `count` numbers that follow each other. */
  async take(counter: string, count: number): Promise<Result<number>> {
    const taken = await this.#client.ask<{ readonly get: { readonly _source: { readonly next: number } } }>({
      method: "POST",
      path: `/${this.#index}/_update/${counter}?_source=true&retry_on_conflict=${RETRIES}`,
      body: {
        script: { lang: "painless", source: ADD, params: { count } },
        upsert: { next: count }
      },
      isRepeatable: true
    })
    return taken.ok ? ok(taken.value.get._source.next - count) : taken
  }
}
