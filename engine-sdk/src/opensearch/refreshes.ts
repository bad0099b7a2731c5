/** Writes become visible together: one refresh of an index serves everything that was written before it began. */
import type { Result } from "../errors.ts"
import type { ClusterClient } from "./client.ts"

interface Running {
  readonly done: Promise<Result<unknown>>
  /** Of those that came after it began. */ next: Promise<Result<unknown>> | undefined
}

export class Refreshes {
  readonly #client: ClusterClient
  /** One entry an index at most. */ readonly #running = new Map<string, Running>()
  constructor(client: ClusterClient) {
    this.#client = client
  }
  /** Resolves when what was written before the call is found. */
  visible(index: string): Promise<Result<unknown>> {
    const running = this.#running.get(index)
    if (running === undefined) return this.#begin(index)
    return (running.next ??= running.done.then(() => this.#begin(index)))
  }
  #begin(index: string): Promise<Result<unknown>> {
    const done = this.#client.ask({ method: "POST", path: `/${index}/_refresh`, isRepeatable: true })
    const own: Running = { done, next: undefined }
    this.#running.set(index, own)
    const end = () => {
      if (this.#running.get(index) === own && own.next === undefined) this.#running.delete(index)
    }
    void done.then(end, end)
    return done
  }
}
