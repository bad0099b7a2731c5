/**
 * Organizations' own models: rows in Postgres, cached in memory and re-read after a write by any process
 * (`Configuration`). A model is tried once, and stored only if it responds correctly.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { ModelConfig } from "@dowser/engine-sdk/embedding"
import { maskSecret } from "@dowser/engine-sdk/schema"
import type { Candidate } from "@dowser/engine-sdk/pipeline"
import type { Reranker } from "@dowser/engine-sdk/rerank"
import type { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../access/seal.ts"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { CurrentEmbedder, DEFAULT_MODEL } from "../ports/embedder/embedder.ts"
import { refused } from "../http/checks.ts"
import { type ConfigurationUnavailable, type InputInvalid, inputInvalid } from "../http/errors.ts"
import { Generator, generatorKinds, type GeneratorModel } from "../ports/generator/generator.ts"
import { OutboundHttp } from "../ports/outbound-http/outbound-http.ts"
import { OPERATOR_KIND } from "../ports/text-embedder/operator/models-file.ts"
import { isRemoteKind } from "../ports/text-embedder/remote/providers.ts"
import { makeRemoteEmbedder } from "../ports/text-embedder/remote/remote-embedder.ts"
import { isTranscriberKind, type RemoteTranscriberModel } from "../ports/transcriber/remote/providers.ts"
import { makeRemoteTranscriber } from "../ports/transcriber/remote/remote-transcriber.ts"
import { Transcriber } from "../ports/transcriber/transcriber.ts"
import { makeProvidersRepository, type ProviderRow } from "./providers-repository.ts"
import { ownModel, ownModels } from "./own-models.ts"
import { remoteReranker } from "./remote-reranker.ts"
import { kindsOf, type Provider, ProviderBody, type ProviderPort, type ProvidersInUse } from "./schema.ts"

interface LoadedProvider {
  readonly body: ProviderBody
  readonly row: ProviderRow
  readonly reranker: Reranker | undefined
}
interface AiProvidersShape {
  /** The model for the organization's own vectors, as a field names it; this program's model if it has none. */
  readonly embeddingModel: (organizationId: string) => ModelConfig
  /** Undefined if the organization has none. */
  readonly reranker: (organizationId: string) => Reranker | undefined
  /** Undefined if the organization has none: answers then consist of sentences from documents. */
  readonly generator: (organizationId: string) => GeneratorModel | undefined
  /** Undefined if the organization has none. */
  readonly transcriber: (organizationId: string) => RemoteTranscriberModel | undefined
  readonly inUse: (organizationId: string) => ProvidersInUse
  readonly put: (
    organizationId: string,
    port: ProviderPort,
    body: ProviderBody
  ) => Effect.Effect<typeof Provider.Type, InputInvalid | ConfigurationUnavailable>
  readonly remove: (organizationId: string, port: ProviderPort) => Effect.Effect<void, ConfigurationUnavailable>
}

const decode = Schema.decodeUnknownSync(ProviderBody)
const KIND = "ai_provider"
const change = (organizationId: string, port: string) => ({ kind: KIND, organizationId, id: port })
const OF_SERVERS = ["url", "api_key", "dimensions"] as const
const TEST_SOUND = { samples: new Float32Array(16_000), speech: [], hints: [] } as const
const TEST = { texts: ["A lamp."], timeout_ms: 10_000, tries: 1 } as const

const transcriberOf = ({ api_key, kind, model, url }: ProviderBody): RemoteTranscriberModel | undefined =>
  isTranscriberKind(kind) ? { kind, model: model ?? "", url, apiKey: api_key } : undefined

const generatorOf = ({ api_key, kind, model, url }: ProviderBody): GeneratorModel | undefined => {
  const known = generatorKinds.find((each) => each === kind)
  return known === undefined ? undefined : { kind: known, model: model ?? "", url, api_key }
}

const shownOf = (port: ProviderPort, { body, row }: Pick<LoadedProvider, "body" | "row">): typeof Provider.Type => ({
  port,
  ...body,
  ...(body.api_key === undefined ? {} : { api_key: maskSecret(body.api_key) }),
  created_at: row.created_at,
  updated_at: row.updated_at
})

/** Keeps all of them in memory, by organization and port. */
const keepProviders = Effect.gen(function* () {
  const configuration = yield* Configuration
  const seal = yield* Seal
  const http = yield* OutboundHttp
  const { read } = yield* makeProvidersRepository
  const organizations = new Map<string, Map<string, LoadedProvider>>()
  const knownOf = (row: ProviderRow): LoadedProvider => {
    const value = decode(row.value)
    const api_key = row.sealed_api_key === null ? undefined : seal.open(row.sealed_api_key).toString("utf8")
    const body: ProviderBody = api_key === undefined ? value : { ...value, api_key }
    return { body, row, reranker: row.port === "reranker" ? remoteReranker(http, body) : undefined }
  }
  yield* configuration.keep(KIND, (subjects) =>
    Effect.flatMap(read(subjects), (rows) =>
      Effect.suspend(() => {
        configuration.damages.forget(KIND, subjects)
        if (subjects === "all") organizations.clear()
        else for (const { id, organizationId } of subjects) organizations.get(organizationId)?.delete(id)
        const unread: Array<Effect.Effect<void>> = []
        for (const row of rows) {
          try {
            const own = organizations.get(row.organization_id) ?? new Map<string, LoadedProvider>()
            organizations.set(row.organization_id, own.set(row.port, knownOf(row)))
          } catch (error) {
            const reason = `The stored AI provider \`${row.port}\` is not what it should be.`
            configuration.damages.note(KIND, { organizationId: row.organization_id, id: row.port }, reason)
            unread.push(Effect.logError(`${row.organization_id} is refused: ${reason}`, error))
          }
        }
        return Effect.all(unread, { discard: true })
      })
    )
  )
  return (organizationId: string, port: ProviderPort) => organizations.get(organizationId)?.get(port)
})

const HELLO = {
  messages: [{ role: "user", content: "Say hello." }],
  maxTokens: 16,
  timeout_ms: 20_000,
  tries: 1
} as const
/** Any reply proves that the model works. */
const makeGeneratorTrial = Effect.map(Generator, (generator) => (organizationId: string, body: ProviderBody) => {
  const model = generatorOf(body)
  return model === undefined
    ? Effect.succeed("Not a kind of server")
    : Effect.match(generator.complete({ organizationId, model, ...HELLO }), {
        onFailure: ({ message }) => message,
        onSuccess: () => undefined
      })
})

/** Why the provider cannot be used; undefined if it responded correctly. */
const makeTrial = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const remote = yield* makeRemoteEmbedder
  const embedder = (organizationId: string, body: ProviderBody) =>
    isRemoteKind(body.kind)
      ? Effect.match(
          remote.embed({
            organizationId,
            purpose: "document",
            model: {
              kind: body.kind,
              model: body.model ?? "",
              url: body.url,
              apiKey: body.api_key,
              dimensions: body.dimensions
            },
            dimensions: body.dimensions,
            ...TEST
          }),
          { onFailure: ({ message }) => message, onSuccess: () => undefined }
        )
      : Effect.succeed("Not a kind of server")
  const reranker = (body: ProviderBody) => {
    const model = remoteReranker(http, body)
    if (model === undefined) return Effect.succeed("`url` must name the address of the model's server")
    const candidates = ["A reading lamp.", "A garden chair."].map(
      (text) => ({ value: () => text }) as unknown as Candidate
    )
    const context = {
      request: { q: "lamp" },
      signal: AbortSignal.timeout(TEST.timeout_ms),
      timeLeft_ms: () => TEST.timeout_ms
    }
    const scores = new Float64Array(candidates.length).fill(Number.NaN)
    return Effect.match(
      Effect.tryPromise({
        try: async () => model.score({ candidates, fields: ["text"], scores, context: context as never }),
        catch: (error) => error
      }),
      {
        onFailure: (error) => (error instanceof Error ? error.message : String(error)),
        onSuccess: () => (scores.some(Number.isNaN) ? "It did not answer in time" : undefined)
      }
    )
  }
  const transcribe = yield* makeRemoteTranscriber
  /** Sends a second of silence: any transcript, even an empty one, proves that the transcriber works. */
  const transcriber = (organizationId: string, body: ProviderBody) => {
    const model = transcriberOf(body)
    return model === undefined
      ? Effect.succeed("Not a kind of server")
      : Effect.match(transcribe(model, { ...TEST_SOUND, organizationId, language: "en" }), {
          onFailure: ({ message }) => message,
          onSuccess: () => undefined
        })
  }
  const generator = yield* makeGeneratorTrial
  const models = yield* CurrentEmbedder
  /** The operator named the model, so no server is called. */
  const operator = (organizationId: string, { model }: ProviderBody) => {
    const config = { model_name: `${OPERATOR_KIND}/${model}` }
    return models?.isKnown(config) !== true
      ? Effect.succeed("The operator of this installation has named no such model")
      : Effect.match(models.vectors(organizationId, config, TEST.texts), {
          onFailure: ({ message }) => message,
          onSuccess: () => undefined
        })
  }
  return (organizationId: string, port: ProviderPort, body: ProviderBody) => {
    if (port === "reranker") return reranker(body)
    if (port === "transcriber") return transcriber(organizationId, body)
    if (port === "generator") return generator(organizationId, body)
    return body.kind === OPERATOR_KIND ? operator(organizationId, body) : embedder(organizationId, body)
  }
})

const named = ({ kind, model = "" }: ProviderBody) => ({ name: `${kind}/${model}`, embedded: false })
const modelsInUse = (
  own: ProvidersInUse,
  models: Parameters<typeof ownModel>[0],
  bodyOf: (port: ProviderPort) => ProviderBody | undefined
): ProvidersInUse => {
  const embedder = bodyOf("text_embedder"),
    reranker = bodyOf("reranker"),
    transcriber = bodyOf("transcriber"),
    generator = bodyOf("generator")
  const textEmbedder = (body: ProviderBody) =>
    body.kind === OPERATOR_KIND
      ? ownModel(models, `${OPERATOR_KIND}/${body.model}`)
      : { ...named(body), ...(body.dimensions === undefined ? {} : { dimensions: body.dimensions }) }
  return {
    ...own,
    ...(embedder === undefined ? {} : { text_embedder: textEmbedder(embedder) }),
    ...(generator === undefined ? {} : { generator: named(generator) }),
    ...(reranker === undefined ? {} : { reranker: named(reranker) }),
    ...(transcriber === undefined ? {} : { transcriber: named(transcriber) })
  }
}

export class AiProviders extends Context.Service<AiProviders, AiProvidersShape>()("dowser/ai-providers/AiProviders") {
  static readonly layer: Layer.Layer<
    AiProviders,
    never,
    Configuration | Generator | Identifiers | OutboundHttp | Seal | SqlClient.SqlClient | Transcriber
  > = Layer.effect(
    AiProviders,
    Effect.gen(function* () {
      const configuration = yield* Configuration
      const seal = yield* Seal
      const repository = yield* makeProvidersRepository
      const get = yield* keepProviders
      const trial = yield* makeTrial
      const models = yield* CurrentEmbedder
      const ownTranscriber = yield* Transcriber
      return AiProviders.of({
        embeddingModel: (organizationId) => {
          const own = get(organizationId, "text_embedder")?.body
          if (own === undefined) return { model_name: DEFAULT_MODEL }
          const { api_key, dimensions, kind, model = "", url } = own
          return {
            model_name: `${kind}/${model === "" ? kind : model}`,
            ...(url === undefined ? {} : { url }),
            ...(api_key === undefined ? {} : { api_key }),
            ...(dimensions === undefined ? {} : { dimensions })
          }
        },
        reranker: (organizationId) => get(organizationId, "reranker")?.reranker,
        generator: (organizationId) => {
          const own = get(organizationId, "generator")
          return own === undefined ? undefined : generatorOf(own.body)
        },
        transcriber: (organizationId) => {
          const own = get(organizationId, "transcriber")
          return own === undefined ? undefined : transcriberOf(own.body)
        },
        inUse: (organizationId) => {
          const bodyOf = (port: ProviderPort) => get(organizationId, port)?.body
          return modelsInUse(ownModels(models, ownTranscriber.inUse()), models, bodyOf)
        },
        put: Effect.fn("AiProviders.put")(function* (organizationId, port, body) {
          const kinds = kindsOf(port)
          if (!kinds.includes(body.kind)) return yield* inputInvalid("kind", `One of ${kinds.join(", ")}`)
          if (body.model === undefined && body.kind !== "tei")
            return yield* inputInvalid("model", "The name of a model")
          if (port !== "text_embedder" && body.dimensions !== undefined)
            return yield* inputInvalid("dimensions", "None: only embedding models have vectors")
          if (body.kind === OPERATOR_KIND)
            yield* refused(
              OF_SERVERS.filter((path) => body[path] !== undefined).map((path) => ({
                path,
                message: "Not allowed: a model of this installation needs only its name"
              }))
            )
          const refusal = yield* trial(organizationId, port, body)
          if (refusal !== undefined) return yield* inputInvalid(body.kind === OPERATOR_KIND ? "model" : "url", refusal)
          const now = yield* Clock.currentTimeMillis
          const before = get(organizationId, port)
          const sealed = body.api_key === undefined ? null : seal.seal(new TextEncoder().encode(body.api_key))
          yield* stored(
            configuration.write(change(organizationId, port), repository.put(organizationId, port, body, sealed, now))
          )
          const created_at = before?.row.created_at ?? now
          return shownOf(port, { body, row: { created_at, updated_at: now } as ProviderRow })
        }),
        remove: (organizationId, port) =>
          stored(configuration.write(change(organizationId, port), repository.remove(organizationId, port)))
      })
    })
  )
}
