/**
 * Numbers that are assigned only once in the cluster: keys of collections, and insertion numbers, taken for a batch at
 * a time so that batches keep the order in which they were written. A number taken but not used is skipped.
 */
import { ok, type Result } from "../errors.ts"
import type { ClusterClient } from "./client.ts"
import type { ClusterNames } from "./placement.ts"

/** Retries if other writers take from the same counter at the same time. */
const RETRIES = 20
const ADD = "ctx._source.next += params.count"

export class Counters {
  readonly #client: ClusterClient
  readonly #index: string
  constructor(client: ClusterClient, { counters }: ClusterNames) {
    this.#client = client
    this.#index = counters
  }
  /** Takes `count` consecutive numbers and returns the first. */
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
  /** Sets a counter that one process writes and others read. */
  put(counter: string, next: number): Promise<Result<unknown>> {
    return this.#client.ask({
      method: "PUT",
      path: `/${this.#index}/_doc/${counter}`,
      body: { next },
      isRepeatable: true
    })
  }
  /** Reads a counter, and the number of its last change, which differs after each write; undefined if never set. */
  async look(counter: string): Promise<Result<{ readonly next: number; readonly change: number } | undefined>> {
    const read = await this.#client.ask<{ readonly _source: { readonly next: number }; readonly _seq_no: number }>({
      method: "GET",
      path: `/${this.#index}/_doc/${counter}`,
      isRepeatable: true
    })
    if (read.ok) return ok({ next: read.value._source.next, change: read.value._seq_no })
    return read.error.kind === "NotFound" ? ok(undefined) : read
  }
  remove(counter: string): Promise<Result<unknown>> {
    return this.#client.ask({ method: "DELETE", path: `/${this.#index}/_doc/${counter}`, isRepeatable: true })
  }
}
