/**
 * `dowser opensearch`: runs real OpenSearch nodes from Maven Central on this machine's JVM, on loopback. It prints a
 * line when ready, and stops with this program. For development and the tests of the adapter.
 */
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"
import { opensearchVersion } from "./opensearch-assembly.ts"
import { startOpensearch } from "./opensearch-node.ts"
import { makeProgress } from "./progress.ts"

/** More than a development machine can run: each node takes half a gigabyte. */
export const OPENSEARCH_NODES_MAX = 9

export const opensearch = Effect.fn("cli.opensearch")(function* (flags: {
  readonly folder: string
  readonly port: number
  readonly nodes: number
  readonly heapMegabytes: number
  readonly json: boolean
}) {
  if (flags.nodes < 1 || flags.nodes > OPENSEARCH_NODES_MAX)
    return yield* Effect.fail(new StartRefused(`--nodes: 1 to ${OPENSEARCH_NODES_MAX}.`))
  if (flags.heapMegabytes < 256) return yield* Effect.fail(new StartRefused("--heap-megabytes: at least 256."))
  const progress = makeProgress("OpenSearch")
  const cluster = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => startOpensearch({ ...flags, heap_mb: flags.heapMegabytes, report: progress.end }),
      catch: (error) => (error instanceof StartRefused ? error : new StartRefused(String(error)))
    }),
    (started) => Effect.promise(started.stop)
  )
  const addresses = cluster.nodes.map(({ address }) => address).join(",")
  if (flags.json) process.stdout.write(`${JSON.stringify({ ready: true, nodes: addresses })}\n`)
  else
    process.stderr.write(`OpenSearch ${opensearchVersion} is ready on ${addresses} (OPENSEARCH_NODES=${addresses})\n`)
  // A killed node does not end the program: the other nodes of the cluster continue.
  for (const { address, exited } of cluster.nodes)
    void exited.then((code) => progress.end(`The node at ${address} ended (exit code ${code ?? "none"})`))
  yield* Effect.promise(() => Promise.all(cluster.nodes.map(({ exited }) => exited)))
  return yield* Effect.fail(new StartRefused("No node is left."))
})
