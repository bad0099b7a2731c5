/** Feeds as rows of up to a megabyte in Postgres, which every process of an installation can reach. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Append,
  FEED_PIECE_BYTES,
  FeedStore,
  FeedStoreFailure,
  sourceFailure,
  storeFailure
} from "./feed-store.ts"

const IDS_MAX = 100_000
/** The client sends texts, so bytes are encoded as base64. */
const base64Of = (pieces: ReadonlyArray<Uint8Array>): string => Buffer.concat(pieces).toString("base64")

interface Rows {
  readonly length: (id: string) => Promise<number>
  readonly put: (id: string, position: number, pieces: ReadonlyArray<Uint8Array>) => Promise<unknown>
}
const append = async ({ length, put }: Rows, { bytesMax, id, offset, pieces }: Append): Promise<number> => {
  if ((await length(id)) !== offset)
    throw new FeedStoreFailure({ kind: "offset", message: "There are more or fewer bytes." })
  let stored = offset,
    held: Array<Uint8Array> = [],
    bytes = 0
  const flush = async () => {
    if (bytes === 0) return
    await put(id, stored, held)
    stored += bytes
    held = []
    bytes = 0
  }
  const iterator = pieces[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await iterator.next().catch(async (error: unknown) => {
      await flush()
      throw sourceFailure(error)
    })
    if (done === true) {
      await flush()
      return stored
    }
    if (stored + bytes + value.length > bytesMax) {
      await iterator.return?.()
      throw new FeedStoreFailure({ kind: "too large", message: `It has more than ${bytesMax} bytes.` })
    }
    if (bytes + value.length > FEED_PIECE_BYTES) await flush()
    held.push(value)
    bytes += value.length
  }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const context = yield* Effect.context<never>()
  const run = Effect.runPromiseWith(context)
  const at = (position: number) => sql`${String(position)}::text::int8`
  const length = (id: string) =>
    Effect.map(
      sql<{
        length: number
      }>`SELECT coalesce(max(position + octet_length(bytes)), 0)::float8 AS length FROM ingest_feed_bytes WHERE feed_id = ${id}`,
      ([row]) => row!.length
    )
  const put = (id: string, position: number, pieces: ReadonlyArray<Uint8Array>) =>
    run(
      sql`INSERT INTO ingest_feed_bytes (feed_id, position, bytes) VALUES (${id}, ${at(position)}, decode(${base64Of(pieces)}, 'base64'))`
    )
  const pieceAt = async (id: string, position: number): Promise<Uint8Array | undefined> => {
    const [row] = await run(
      sql<{
        bytes: string
      }>`SELECT encode(bytes, 'base64') AS bytes FROM ingest_feed_bytes WHERE feed_id = ${id} AND position = ${at(position)}`
    )
    return row === undefined ? undefined : Buffer.from(row.bytes, "base64")
  }
  async function* read(id: string): AsyncGenerator<Uint8Array> {
    const whole = await run(length(id))
    if (whole === 0) throw new FeedStoreFailure({ kind: "store", message: "There is no such feed." })
    for (let position = 0; position < whole;) {
      const piece = await pieceAt(id, position)
      if (piece === undefined) throw new FeedStoreFailure({ kind: "store", message: "The feed is not there any more." })
      yield piece
      position += piece.length
    }
  }
  const tried = <A>(promised: () => Promise<A>) => Effect.tryPromise({ try: promised, catch: storeFailure })
  return FeedStore.of({
    append: (given) => tried(() => append({ length: (id) => run(length(id)), put }, given)),
    length: (id) => Effect.mapError(length(id), storeFailure),
    read,
    truncate: (id, to) =>
      Effect.mapError(
        Effect.asVoid(sql`DELETE FROM ingest_feed_bytes WHERE feed_id = ${id} AND position >= ${at(to)}`),
        storeFailure
      ),
    remove: (id) =>
      Effect.mapError(Effect.asVoid(sql`DELETE FROM ingest_feed_bytes WHERE feed_id = ${id}`), storeFailure),
    ids: Effect.map(
      Effect.mapError(
        sql<{ feed_id: string }>`SELECT DISTINCT feed_id FROM ingest_feed_bytes LIMIT ${IDS_MAX}::int4`,
        storeFailure
      ),
      (rows) => rows.map(({ feed_id }) => feed_id)
    )
  })
})

export const layerPostgresFeeds: Layer.Layer<FeedStore, never, SqlClient.SqlClient> = Layer.effect(FeedStore, make)
