/** Makes writes visible together: one refresh of an index serves everything that was written before it began. */
import type { Result } from "../errors.ts"
import { Joined } from "../joined.ts"
import type { ClusterClient } from "./client.ts"

export class Refreshes {
  readonly #client: ClusterClient
  readonly #joined = new Joined<Result<unknown>>()
  constructor(client: ClusterClient) {
    this.#client = client
  }
  /** Resolves when searches find what was written before the call. */
  visible(index: string): Promise<Result<unknown>> {
    return this.#joined.run(index, () =>
      this.#client.ask({ method: "POST", path: `/${index}/_refresh`, isRepeatable: true })
    )
  }
}
