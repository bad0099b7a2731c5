/** Addresses and credentials of a cluster, and limits of a request to it. */
import type { Step } from "./move.ts"

export interface OpensearchOptions {
  /** Node addresses, `https://host:9200`; requests rotate over them and skip nodes that are down. */
  readonly nodes: ReadonlyArray<string>
  /** Certificates are checked by the runtime (`NODE_EXTRA_CA_CERTS`, `DENO_CERT` for a custom one). */
  readonly credentials?: { readonly username: string; readonly password: string } | { readonly apiKey: string }
  /** Prefix of every index name; installations that share a cluster use different ones. Default: `dowser`. */
  readonly prefix?: string
  /** Default: 30,000. A search takes no longer than its plan allows. */ readonly timeout_ms?: number
  /** Maximum bytes of one response of the cluster. Default: 64 MiB. */ readonly answerBytes_max?: number
  /** Copies of each shard besides the primary, if there are nodes for them. Default: 1. */ readonly replicas?: number
  /** Shards of the index that small collections share, set when it is created. Default: 3. */
  readonly poolShards?: number
  /** Larger collections are searched without a cached vocabulary, by the cluster's fuzzy search. Default: 200,000. */
  readonly vocabularyDocuments_max?: number
  /** A collection with more documents than this moves from the shared index to one of its own. Default: 200,000. */
  readonly poolDocuments_max?: number
  /** Called before each step of moving a collection; an error ends the move as if the process had died. */
  readonly onMoveStep?: (step: Step) => void | Promise<void>
  /** How often documents are counted, after how much silence a mover is considered dead, and when leftovers of a move
   * are cleared. Defaults: 15,000, 15,000 and 40,000, longer than a search may take. */
  readonly times?: { readonly count_ms?: number; readonly silent_ms?: number; readonly clear_ms?: number }
  /** Interval at which changes by other processes are read. Default: 1,000. */ readonly follow_ms?: number
}
