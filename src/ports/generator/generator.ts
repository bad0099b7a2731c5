/**
 * A writing model: messages in, a text out, whole or while it is written. The port promises: one deadline over all
 * tries, a bounded answer, only the answer's own text (no reasoning, no tool calls), and a failure with its kind. The
 * text is as hostile as any other.
 */
import { Context, Data, type Effect, type Stream } from "effect"

export const generatorKinds = ["openai", "anthropic", "ollama"] as const
export type GeneratorKind = (typeof generatorKinds)[number]

/** A model of a server, as an organization names it. */
export interface GeneratorModel {
  readonly kind: GeneratorKind
  /** Base address; the provider's own where absent. */ readonly url?: string | undefined
  /** The server's name for it. */ readonly model: string
  readonly api_key?: string | undefined
  /** After the address, instead of the interface's own path; "" if the address is complete. */ readonly path?: string
  /** Instead of the interface's own header. */ readonly keyHeader?: "api-key"
}
export interface GeneratorMessage {
  readonly role: "system" | "user" | "assistant"
  readonly content: string
}
export interface GenerateRequest {
  /** Some are under way at once of one organization; more wait, within `timeout_ms`. */ readonly organizationId: string
  readonly model: GeneratorModel
  readonly messages: ReadonlyArray<GeneratorMessage>
  readonly maxTokens: number
  /** From the call to the last word, including tries and waits. */ readonly timeout_ms: number
  /** A server that is busy or failed is asked again before a word came, not after; 2 where absent. */
  readonly tries?: number
  readonly temperature?: number
  /** The answer is to be one JSON object; whether it is, the caller checks. */ readonly isJson?: boolean
}
/** As the server counts; a quarter of the characters where it says nothing. */
interface GeneratorUsage {
  readonly input_tokens: number
  readonly output_tokens: number
}
/** `length`: `maxTokens` cut it. `filtered`: the server held something back. */
export type GeneratorFinish = "stop" | "length" | "filtered"
export interface Generated {
  readonly text: string
  readonly finish: GeneratorFinish
  readonly usage: GeneratorUsage
}
/** Any number of texts, then one end; a stream without an end has failed. */
export type GeneratorPiece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "end"; readonly finish: GeneratorFinish; readonly usage: GeneratorUsage }

/**
 * `busy`: repeating it later may work. `refused`: only the person who chose the model can change it. `failed`: the
 * server or the connection broke. `message` is a sentence without credentials.
 */
export class GenerationFailed extends Data.TaggedError("GenerationFailed")<{
  readonly kind: "busy" | "refused" | "failed" | "timeout"
  readonly message: string
}> {}

export class Generator extends Context.Service<
  Generator,
  {
    /** Interrupting it closes the connection, which is how servers learn to stop. */
    readonly complete: (request: GenerateRequest) => Effect.Effect<Generated, GenerationFailed>
    /** The connection closes with the stream, also where its reader leaves early. */
    readonly stream: (request: GenerateRequest) => Stream.Stream<GeneratorPiece, GenerationFailed>
  }
>()("dowser/ports/Generator") {}
