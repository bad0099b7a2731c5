/**
 * `reindex`: writes every document of the collection back as it is currently stored, in insertion order, so that
 * changed field mappings take effect. Its cursor is the position after the last document.
 */
import { Effect, Option, Schema, Stream } from "effect"
import { Engine } from "../../ports/engine/engine.ts"
import { BATCH_CHANGES_MAX, type IngestBatch, IngestFailed, IngestLater, type IngestSource } from "./source.ts"

const ReindexConfig = Schema.Struct({
  action: Schema.optionalKey(Schema.Literals(["create", "upsert", "update", "emplace"])),
  /** Only in jobs of earlier versions. */ total: Schema.optionalKey(Schema.Int)
})
type ReindexConfig = typeof ReindexConfig.Type
const AGAIN_S = 2

export const makeReindex = Effect.map(Engine, (engine): IngestSource<ReindexConfig> => ({
  name: "reindex",
  config: ReindexConfig,
  load: "import",
  isFull: () => false,
  writes: ({ action = "upsert" }) => ({ action, isRewrite: true }),
  read: ({ collection, organizationId, place }) => {
    const total = engine.describeCollection(organizationId, collection)?.num_documents ?? 0
    const next = Effect.fnUntraced(function* (cursor: number, fetched: number) {
      const page = yield* Effect.promise(async () =>
        engine.scan(organizationId, {
          collection,
          filter: undefined,
          limit: BATCH_CHANGES_MAX,
          // The cursor is one past the last document; before the first it is 0.
          ...(cursor === 0 ? {} : { after: cursor - 1 })
        })
      )
      if (!page.ok)
        return yield* page.error.kind === "NotFound" || page.error.kind === "Invalid"
          ? new IngestFailed({ message: page.error.message })
          : new IngestLater({ message: page.error.message, after_s: AGAIN_S })
      const { documents, next: after } = page.value
      const read = fetched + documents.length
      const batch: IngestBatch = {
        changes: documents.map((document) => ({ op: "upsert", document })),
        cursor: after === undefined ? cursor + documents.length : after + 1,
        fetched: documents.length,
        errors: [],
        progress: total === 0 ? 1 : Math.min(1, read / total),
        state: { read, is_done: after === undefined }
      }
      return [batch, after === undefined ? undefined : ([batch.cursor, read] as const)] as const
    })
    const { is_done, read } = place.state
    return Effect.succeed(
      is_done === true
        ? Stream.empty
        : Stream.paginate(
            [place.cursor, typeof read === "number" ? read : 0] as readonly [number, number],
            ([at, fetched]) =>
              Effect.map(next(at, fetched), ([batch, more]) => [[batch], Option.fromUndefinedOr(more)] as const)
          )
    )
  }
}))
