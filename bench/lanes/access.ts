/**
 * Question: what do key, limits and quota cost a request before anything is searched, and what do keys at rest cost?
 * The real services over an embedded Postgres, in this thread. Workload: `organizations` × `keys` keys, every second
 * one able to sign. Then each of three keys is checked repeatedly with a unit of its organization's quota: a plain
 * one, one signed offline with a filter, and one with a CIDR, an origin and a forced filter. Excluded: HTTP, JSON,
 * the engine. Memory is that of the entire program after all keys were read, minus the same program with no key, both
 * after a garbage collection.
 */
import { createCipheriv, createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Access, NEVER_EXPIRES } from "../../src/access/access.ts"
import { Organizations } from "../../src/organizations/organizations.ts"
import { Seal } from "../../src/access/seal.ts"
import { Configuration } from "../../src/configuration/configuration.ts"
import { Entitlements } from "../../src/metering/entitlements.ts"
import { Quota } from "../../src/metering/quota.ts"
import { Wallet } from "../../src/metering/wallet.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { Outbox } from "../../log/outbox.ts"
import { layerLeased } from "../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { machine, percentiles, report, round, rssMb } from "../harness/harness.ts"

export interface AccessOptions {
  readonly organizations: number
  readonly keys: number
  readonly requests: number
  readonly out: string | undefined
}

const WARM_UP = 5_000
const operatorKey = new Uint8Array(32).fill(7)

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void
const memory = Effect.gen(function* () {
  for (let i = 0; i < 3; i++) {
    collect()
    yield* Effect.sleep(300)
  }
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return { rss_mb: rssMb(process.pid), live_mb: round((heapUsed + Math.max(external, arrayBuffers)) / 2 ** 20, 1) }
})

const services = Quota.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Layer.provideMerge(Access.layer, Organizations.layer), Entitlements.layer, Wallet.layer)
  ),
  Layer.provideMerge(Layer.mergeAll(Configuration.layerEmbedded, layerLeased({ isAlone: true }), Outbox.layer)),
  Layer.provideMerge(Layer.mergeAll(Identifiers.layer, Seal.layer(operatorKey)))
)

/**
 * Written by Postgres itself. A signing key's digest is its hash, sealed here once and shared by all keys: only its
 * size and the number of times it is opened matter.
 */
const fill = Effect.fnUntraced(function* (organizations: number, keys: number) {
  const sql = yield* SqlClient.SqlClient
  const cipher = createCipheriv("aes-256-gcm", operatorKey, new Uint8Array(12))
  const body = Buffer.concat([cipher.update(new Uint8Array(32)), cipher.final()])
  const sealed = Buffer.concat([new Uint8Array(12), cipher.getAuthTag(), body]).toString("base64")
  yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) SELECT 'org_' || upper(lpad(o::text, 26, '0')), 'Organization ' || o, 'active', 'standard', o FROM generate_series(1, ${organizations}::int4) o`
  for (let first = 1; first <= organizations; first += 500) {
    yield* sql`INSERT INTO api_keys (id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute, expires_at, created_at)
      SELECT 'key_' || upper(lpad(to_hex(k * 1000000 + o), 26, '0')), 'org_' || upper(lpad(o::text, 26, '0')), CASE WHEN k % 2 = 0 THEN 'full' ELSE 'search' END, 'Key number ' || k, '["documents:search"]', '["*"]',
        substr(md5(k || '-' || o), 1, 4), encode(sha256((o || '/' || k)::bytea), 'hex'), CASE WHEN k % 2 = 0 THEN NULL ELSE ${sealed} END, '{"cidrs":[],"origins":[],"filter_by":{}}', 600, ${String(NEVER_EXPIRES)}::text::int8, 1700000000000 + k
      FROM generate_series(${first}::int4, ${Math.min(organizations, first + 499)}::int4) o, generate_series(1, ${keys}::int4) k`
  }
})

const requestsOf = Effect.fnUntraced(function* (
  context: Context.Context<Access | Organizations | Quota>,
  requests: number
) {
  const access = Context.get(context, Access)
  const quota = Context.get(context, Quota)
  const { id } = yield* Context.get(context, Organizations).create("Bench", "standard")
  const make = (extra: Readonly<Record<string, unknown>>) =>
    access.createKey({
      organization_id: id,
      scope: "search",
      description: "k",
      actions: ["documents:search"],
      collections: ["*"],
      isGateway: false,
      cidrs: [],
      origins: [],
      filter_by: {},
      rate_limit_per_minute: 2_000_000_000,
      expires_at: NEVER_EXPIRES,
      ...extra
    })
  const plain = (yield* make({})).value
  const parameters = JSON.stringify({ filter_by: "shop:=a", expires_at: 4_000_000_000 })
  const secured = Buffer.from(
    createHmac("sha256", plain).update(parameters).digest("base64") + plain.slice(0, 4) + parameters
  ).toString("base64")
  const restricted = (yield* make({
    cidrs: ["192.168.0.0/16", "10.0.0.0/8"],
    origins: ["https://*.shop.example"],
    filter_by: { goods: "shop:=a" },
    collections: ["goods", "shop_.*"]
  })).value
  const presented = (key: string) => ({
    key,
    scope: "search" as const,
    address: "10.1.2.3",
    origin: "https://www.shop.example",
    collection: "goods",
    sessionId: undefined,
    isRateFree: false,
    isGateway: false,
    onKey: () => {}
  })
  const one = (key: string) =>
    Effect.flatMap(access.check(presented(key)), (caller) => quota.reserve(caller.organizationId))
  const figures: Record<string, { readonly p50_us: number; readonly p99_us: number }> = {}
  for (const [name, key] of [
    ["plain", plain],
    ["secured", secured],
    ["restricted", restricted]
  ] as const) {
    const took = new Float64Array(requests)
    for (let i = -WARM_UP; i < requests; i++) {
      const from = performance.now()
      const unit = yield* one(key)
      if (i >= 0) took[i] = performance.now() - from
      // The month's quota must not end the bench, so each unit is given back.
      unit.giveBack()
      if (i % 1_000 === 0) yield* Effect.sleep(1)
    }
    const { p50_ms, p99_ms } = percentiles(took)
    figures[name] = { p50_us: round(p50_ms * 1_000, 1), p99_us: round(p99_ms * 1_000, 1) }
  }
  return figures
})

export const benchAccess = async ({ keys, organizations, out, requests }: AccessOptions): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-access-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  try {
    const program = Effect.gen(function* () {
      const empty = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.fresh(services), empty)
      const before = yield* memory
      yield* Scope.close(empty, Exit.void)
      yield* fill(organizations, keys)
      const from = performance.now()
      const cpu = process.cpuUsage()
      const context = yield* Layer.build(Layer.fresh(services))
      const read_s = round((performance.now() - from) / 1_000)
      const used = process.cpuUsage(cpu)
      const read_cpu_s = round((used.user + used.system) / 1e6)
      const after = yield* memory
      report(
        "access",
        {
          machine: machine(),
          organizations,
          keys: organizations * keys,
          memory_empty: before,
          memory_idle: after,
          idle_mb: round(after.live_mb - before.live_mb, 1),
          idle_rss_mb: after.rss_mb - before.rss_mb,
          bytes_per_key: Math.round(((after.live_mb - before.live_mb) * 2 ** 20) / (organizations * keys)),
          read_s,
          read_cpu_s,
          check: yield* requestsOf(context as Context.Context<Access | Organizations | Quota>, requests)
        },
        out
      )
    })
    await Effect.runPromise(
      Effect.scoped(Effect.provide(program, Layer.provideMerge(layerMigrations, layerSql(server))))
    )
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
