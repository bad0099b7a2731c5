/**
 * Spans of a sample of requests, commits and flushes, sent over HTTP by Effect's own exporter (OTLP, JSON). Off unless
 * `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set. Effects outside the sample, and
 * whatever runs outside a traced effect, create no spans.
 *
 * Traces start here, ignoring any trace context in the request: searchers are strangers and would otherwise choose what
 * is kept. Attributes are names known to the program, ids of organizations, numbers, and SQL statements without values:
 * never the text of a query, document or header.
 */
import { Config, ConfigProvider, Context, Effect, Exit, Layer, Option, Random, References, type Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"

/** The share of traceable effects, 0 to 1. */
const TracedShare = Context.Reference<number>("dowser/TracedShare", { defaultValue: () => 0 })

const endpoint = Config.all([
  Config.String("OTEL_EXPORTER_OTLP_ENDPOINT").pipe(Config.withDefault("")),
  Config.String("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").pipe(Config.withDefault(""))
]).pipe(Config.map((all) => all.some((text) => text !== "")))
/** From OTEL_TRACES_SAMPLER_ARG, interpreted as by `parentbased_traceidratio`; everything if absent. */
const share = Config.Finite("OTEL_TRACES_SAMPLER_ARG").pipe(
  Config.withDefault(1),
  Config.map((given) => Math.min(1, Math.max(0, given)))
)

/** The standard's default; Effect's exporter is off unless the variable is set. */
const OTLP_BY_DEFAULT = ConfigProvider.layerAdd(ConfigProvider.fromUnknown({ OTEL_TRACES_EXPORTER: "otlp" }))

/**
 * `serviceName` applies if `OTEL_SERVICE_NAME` is not set. Spans not yet sent when the program ends are sent within 3
 * s.
 */
export const layerTraces = (serviceName: string): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.gen(function* () {
      if (!(yield* endpoint)) return Layer.empty
      return Layer.mergeAll(
        Layer.provide(OtlpTracer.layerFromConfig({ resource: { serviceName } }), [
          OtlpSerialization.layerJson,
          FetchHttpClient.layer,
          OTLP_BY_DEFAULT
        ]),
        Layer.succeed(TracedShare, yield* share),
        Layer.succeed(References.TracerEnabled, false)
      )
    }).pipe(Effect.orDie)
  )

/** Describes what is wrong with the variables, by name; undefined if nothing is. */
export const refusalOfTraces = (variables: Readonly<Record<string, string | undefined>>): string | undefined => {
  const wrong: Array<string> = []
  for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) {
    const { [name]: address = "" } = variables
    if (address !== "" && !(URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)))
      wrong.push(`${name} is no http or https address`)
  }
  const { OTEL_TRACES_SAMPLER_ARG: ratio = "" } = variables
  if (ratio !== "" && !(Number(ratio) >= 0 && Number(ratio) <= 1))
    wrong.push("OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1")
  return wrong.length === 0 ? undefined : `${wrong.join("; ")}.`
}

type Attributes = Readonly<Record<string, string | number>>
/**
 * Runs the effect as a trace of its own if it is in the sample, otherwise unchanged, at the cost of reading one
 * reference. `came` returns the attributes that its answer adds.
 */
export const traced = <A, E, R>(
  name: string,
  kind: Tracer.SpanKind,
  attributes: () => Attributes,
  effect: Effect.Effect<A, E, R>,
  came: (answer: A) => Attributes = () => ({})
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const wanted = fiber.getRef(TracedShare)
    if (wanted === 0 || fiber.getRef(Random.Random).nextDoubleUnsafe() >= wanted) return effect
    const annotated = Effect.tap(effect, (answer) => Effect.annotateCurrentSpan(came(answer)))
    const spanned = Effect.withSpan(annotated, name, { root: true, kind, attributes: attributes() })
    return Effect.withTracerEnabled(spanned as Effect.Effect<A, E, R>, true)
  })

const EPOCH_ns = BigInt(Math.round(performance.timeOrigin * 1e6))
/** `performance.now()` as nanoseconds since 1970. */
const nanoseconds = (at_ms: number): bigint => EPOCH_ns + BigInt(Math.round(at_ms * 1e6))

/** Stages of work outside Effect, each a child span of the one that was current when it began. */
export class Stages {
  readonly #tracer: Tracer.Tracer
  readonly #parent: Tracer.Span
  #since_ms = performance.now()
  constructor(tracer: Tracer.Tracer, parent: Tracer.Span) {
    this.#tracer = tracer
    this.#parent = parent
  }
  /** Names the stage that has just ended. */
  ended(name: string, attributes: Attributes = {}): void {
    const until_ms = performance.now()
    const span = this.#tracer.span({
      name,
      parent: Option.some(this.#parent),
      annotations: Context.empty(),
      links: [],
      startTime: nanoseconds(this.#since_ms),
      kind: "internal",
      root: false,
      sampled: true
    })
    for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    span.end(nanoseconds(until_ms), Exit.void)
    this.#since_ms = until_ms
  }
  /** Adds attributes to the entire span. */
  annotate(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes)) this.#parent.attribute(name, value)
  }
}
/** The current trace; undefined if there is none, at the cost of reading one reference. */
export const currentStages: Effect.Effect<Stages | undefined> = Effect.withFiber((fiber) =>
  fiber.getRef(TracedShare) === 0 || !fiber.getRef(References.TracerEnabled)
    ? Effect.succeed(undefined)
    : Effect.map(
        Effect.all([Effect.tracer, Effect.orDie(Effect.currentSpan)]),
        ([tracer, parent]) => new Stages(tracer, parent)
      )
)
