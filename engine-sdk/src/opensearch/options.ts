/** Addresses and credentials of a cluster, and limits of a request to it. */
import type { Step } from "./move.ts"

export interface OpensearchOptions {
  /** Addresses of nodes, `https://host:9200`; calls go to one after the other and pass over those that are gone. */
  readonly nodes: ReadonlyArray<string>
  /** Certificates are checked by the runtime (`NODE_EXTRA_CA_CERTS`, `DENO_CERT` for one of your own). */
  readonly credentials?: { readonly username: string; readonly password: string } | { readonly apiKey: string }
  /** Every index begins with it: installations that share a cluster have different ones. Default: `dowser`. */
  readonly prefix?: string
  /** Default: 30,000. A search takes no longer than its plan says. */ readonly timeout_ms?: number
  /** Bytes of one answer of the cluster. Default: 64 MiB. */ readonly answerBytes_max?: number
  /** Copies of each shard beside the first, where there are nodes for them. Default: 1. */ readonly replicas?: number
  /** Shards of the index that small collections share, set when it is created. Default: 3. */
  readonly poolShards?: number
  /** Words of larger collections are not remembered; what they are near to is left to the cluster. Default: 200,000. */
  readonly vocabularyDocuments_max?: number
  /** A collection with more documents than this moves from the shared index to one of its own. Default: 200,000. */
  readonly poolDocuments_max?: number
  /** Called before each step of moving a collection; an error from it ends the move as the end of a process would. */
  readonly onMoveStep?: (step: Step) => void | Promise<void>
  /** How often documents are counted, after which silence a mover is taken for gone, and when what a move left behind
   * is cleared. Defaults: 15,000, 15,000 and 40,000, longer than a search may take. */
  readonly times?: { readonly count_ms?: number; readonly silent_ms?: number; readonly clear_ms?: number }
  /** How often what other processes changed is looked at. Default: 1,000. */ readonly follow_ms?: number
}
