/**
 * A Dowser for one test file: the same layers and the same HTTP handler as `npm start`, over a fresh data folder in
 * the system's temporary directory, on a free port. Stopped and removed by `stop`.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { openEngine, type SearchEngine } from "../../engine-sdk/src/mod.ts"
import { Access } from "../../src/access/access.ts"
import { encodeRecord } from "../../log/record.ts"
import { SEARCH_SERVED } from "../../log/topics.ts"
import { FallbackWait } from "../../src/recommendation-models/fallback-models.ts"
import { PasswordCost } from "../../src/console/password.ts"
import { Demo } from "../../src/demo/demo.ts"
import { SERVED_SCHEMA_VERSION, type ServedSearch } from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { seedDemo } from "../../src/demo/seed.ts"
import { dataVersion } from "../../src/migrations/index.ts"
import { Organizations } from "../../src/organizations/organizations.ts"
import { createWithKeys } from "../../src/tenants/routes.ts"
import type { PublishGate } from "../../src/profiles/publish-gate.ts"
import type { Rerankers } from "../../src/rerankers/rerankers.ts"
import { GatewaySettings } from "../../src/gateway/settings.ts"
import type { GuardOptions } from "../../src/ports/engine/guarded-engine.ts"
import type { OperatorModel } from "../../src/ports/text-embedder/operator/models-file.ts"
import { openDataFolder } from "../../src/runtime/data-folder.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { preparePostgres } from "./prepared-postgres.ts"
import { layerEmbedded, layerGuarded } from "../../src/runtime/embedded.ts"
import { layerServer } from "../../src/server.ts"

export interface Tenant {
  readonly organization_id: string
  readonly full_key: string
  readonly search_key: string
}
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: any
  readonly text: string
}
export interface Program {
  readonly base: string
  readonly operatorToken: string
  /** Owner of the demo shop, if one was requested. */ readonly demo: Tenant | undefined
  readonly tenant: (name: string) => Promise<Tenant>
  /** Adds credits for operations that cost some. */
  readonly topUp: (organizationId: string, credits: number) => Promise<void>
  /** A JSON request; a string or bytes body is sent unchanged. */
  readonly request: (
    method: string,
    path: string,
    options?: { readonly key?: string; readonly body?: unknown; readonly headers?: Record<string, string> }
  ) => Promise<Answer>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Access | Organizations | PublishGate | Rerankers>) => Promise<A>
  /**
   * Reports of answered searches as the search room writes them, for times and networks that a test cannot search from.
   */
  readonly answered: (served: ReadonlyArray<ServedSearch>) => Promise<void>
  readonly stop: () => Promise<void>
}

interface ProgramOptions {
  /** A data folder that exists already and is kept; else a fresh one, which is removed with the program. */
  readonly dataFolder?: string
  /** Fills a demo shop of that size. */ readonly demoProducts?: number
  readonly trustedProxies?: ReadonlyArray<string>
  readonly serviceDomain?: string
  /** The header in which a trusted proxy names the country. */ readonly countryHeader?: string
  readonly gateway?: GatewaySettings
  /** Wraps the real engine, inside its circuit breakers. */ readonly wrapEngine?: (
    engine: SearchEngine
  ) => SearchEngine
  readonly guard?: GuardOptions
  /** Webhook receivers that a test starts listen on loopback. */ readonly allowPrivateAddresses?: boolean
  /** Where models are, in place of the program's own folder. */ readonly modelsFolder?: string
  /** The models that the operator names. */ readonly embeddingModels?: ReadonlyArray<OperatorModel>
  /** Services with a value per program, such as addresses of other processes. */ readonly services?: Layer.Layer<never>
}

const layerWrapped = (wrap: (engine: SearchEngine) => SearchEngine, guard?: GuardOptions) => (path: string) =>
  Layer.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.promise(() => openEngine({ path, worker: true })),
        (engine) => Effect.promise(() => engine.close())
      ),
      (engine) => layerGuarded(wrap(engine), guard)
    )
  )

export const startProgram = async (options: ProgramOptions = {}): Promise<Program> => {
  const path = options.dataFolder === undefined ? mkdtempSync(join(tmpdir(), "dowser-test-")) : undefined
  if (path !== undefined) await preparePostgres(join(path, "data", "postgres"))
  const folder = openDataFolder(options.dataFolder ?? join(path!, "data"), dataVersion)
  const port = await freePort()
  const scope = Effect.runSync(Scope.make())
  const gateway = options.gateway === undefined ? Layer.empty : Layer.succeed(GatewaySettings, options.gateway)
  const context = await Effect.runPromise(
    Layer.buildWithScope(
      layerServer({
        host: "127.0.0.1",
        port,
        countryHeader: options.countryHeader,
        ...(options.trustedProxies === undefined ? {} : { trustedProxies: options.trustedProxies })
      }).pipe(
        Layer.provideMerge(
          layerEmbedded(folder, {
            allowPrivateAddresses: options.allowPrivateAddresses === true,
            serviceDomain: options.serviceDomain,
            countryHeader: options.countryHeader,
            modelsFolder: options.modelsFolder,
            ...(options.embeddingModels === undefined ? {} : { embeddingModels: options.embeddingModels }),
            ...(options.wrapEngine === undefined ? {} : { engine: layerWrapped(options.wrapEngine, options.guard) })
          })
        ),
        Layer.provide(gateway),
        Layer.provide(options.services ?? Layer.empty),
        // The cost of hashing a password has a test of its own; here some tests sign in a hundred times.
        Layer.provide(Layer.succeed(PasswordCost, { N: 2 ** 10, r: 8, p: 1 })),
        // A fallback that answers late has a test of its own, too; here it gets more time, because the machine may be
        // busy.
        Layer.provide(Layer.succeed(FallbackWait, 5_000))
      ),
      scope
    )
  )
  const base = `http://127.0.0.1:${port}`
  const services = context as Context.Context<Access | Organizations | PublishGate | Rerankers>
  const { demoProducts } = options
  const demo =
    demoProducts === undefined
      ? undefined
      : await Effect.runPromise(
          Effect.provide(
            Effect.gen(function* () {
              const tenant = yield* createWithKeys("Demo", "unlimited", 0)
              yield* seedDemo({
                organizationId: tenant.organization_id,
                collection: "products",
                products: demoProducts,
                report: () => {}
              })
              const shop = yield* Demo
              yield* shop.open(tenant.organization_id, "products")
              return tenant
            }),
            context
          )
        )
  return {
    base,
    operatorToken: folder.operatorToken,
    demo,
    answered: (served) => {
      const log = Context.get(context as unknown as Context.Context<EventLog>, EventLog)
      return Effect.runPromise(
        Effect.asVoid(
          log.append(
            served.map((one) => ({
              topic: SEARCH_SERVED.name,
              partition: 0,
              value: encodeRecord({
                schema_version: SERVED_SCHEMA_VERSION,
                organization_id: "",
                occurred_at: one.at,
                payload: { served: [one] }
              })
            }))
          )
        )
      )
    },
    run: (effect) => Effect.runPromise(Effect.provideContext(effect, services)),
    tenant: (name) => Effect.runPromise(Effect.provideContext(createWithKeys(name, "unlimited", 0), services)),
    topUp: async (organizationId, credits) => {
      const answer = await fetch(`${base}/console/v1/organizations/${organizationId}/top-up`, {
        method: "POST",
        headers: { authorization: `Bearer ${folder.operatorToken}` },
        body: JSON.stringify({ credits })
      })
      if (!answer.ok) throw new Error(await answer.text())
    },
    request: async (method, address, { body, headers, key } = {}) => {
      const payload =
        body === undefined
          ? undefined
          : typeof body === "string" || body instanceof Uint8Array
            ? body
            : JSON.stringify(body)
      const response = await fetch(`${base}${address}`, {
        method,
        headers: { ...(key === undefined ? {} : { "x-svc-api-key": key }), ...headers },
        ...(payload === undefined ? {} : { body: payload as string })
      })
      const text = await response.text()
      let parsed: unknown
      try {
        parsed = JSON.parse(text)
      } catch {
        parsed = undefined
      }
      return { status: response.status, headers: response.headers, body: parsed, text }
    },
    stop: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      folder.release()
      // A server that has just ended may still write while this runs.
      if (path !== undefined) rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
  }
}
