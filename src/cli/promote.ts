/**
 * `dowser promote`: gives a collection in a search cluster an index of its own, directly on the cluster that the
 * `OPENSEARCH_*` variables name. Processes continue to serve it meanwhile.
 */
import { OpensearchEngine } from "@dowser/engine-sdk/opensearch"
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"
import { opensearchOptionsOf } from "../runtime/opensearch.ts"

export const promote = Effect.fn("cli.promote")(function* (flags: {
  readonly organization: string
  readonly collection: string
}) {
  const options = opensearchOptionsOf(process.env)
  if (typeof options === "string") return yield* Effect.fail(new StartRefused(options))
  const opened = yield* Effect.promise(() => OpensearchEngine.open(options))
  if (!opened.ok) return yield* Effect.fail(new StartRefused(opened.error.message))
  const engine = yield* Effect.acquireRelease(Effect.succeed(opened.value), (own) => Effect.promise(() => own.close()))
  const promoted = yield* Effect.promise(() => engine.promoteCollection(flags.organization, flags.collection))
  if (!promoted.ok)
    return yield* Effect.fail(new StartRefused(`${flags.collection} was not moved: ${promoted.error.message}`))
  process.stdout.write(`${flags.collection} has an index of its own (${promoted.value.num_documents} documents)\n`)
})
