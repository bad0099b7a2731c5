/**
 * A generative model: takes messages and returns a text, complete or streamed. The port promises one deadline over all
 * tries, a bounded answer, only the answer's own text (no reasoning, no tool calls), and a failure with its kind. The
 * text is as untrusted as any other input.
 */
import { Context, Data, type Effect, type Stream } from "effect"

export const generatorKinds = ["openai", "anthropic", "ollama"] as const
export type GeneratorKind = (typeof generatorKinds)[number]

/** A model of a server, as an organization names it. */
export interface GeneratorModel {
  readonly kind: GeneratorKind
  /** Base address; the provider's default if absent. */ readonly url?: string | undefined
  /** The server's name for the model. */ readonly model: string
  readonly api_key?: string | undefined
  /** Replaces the interface's own path after the address; "" if the address is complete. */ readonly path?: string
  /** Used instead of the interface's own header. */ readonly keyHeader?: "api-key"
}
export interface GeneratorMessage {
  readonly role: "system" | "user" | "assistant"
  readonly content: string
}
export interface GenerateRequest {
  /** Its number of concurrent calls is limited; more wait, within `timeout_ms`. */ readonly organizationId: string
  readonly model: GeneratorModel
  readonly messages: ReadonlyArray<GeneratorMessage>
  readonly maxTokens: number
  /** From the call to the last token, including tries and waits. */ readonly timeout_ms: number
  /** A server that is busy or failed is tried again before the first token, not after; 2 tries if absent. */
  readonly tries?: number
  readonly temperature?: number
  /** The answer should be one JSON object; the caller checks whether it is. */ readonly isJson?: boolean
}
/** As counted by the server; a quarter of the characters if it does not report it. */
interface GeneratorUsage {
  readonly input_tokens: number
  readonly output_tokens: number
}
/** `length`: cut off at `maxTokens`. `filtered`: the server withheld something. */
export type GeneratorFinish = "stop" | "length" | "filtered"
export interface Generated {
  readonly text: string
  readonly finish: GeneratorFinish
  readonly usage: GeneratorUsage
}
/** A stream yields any number of texts, then one end; without an end it has failed. */
export type GeneratorPiece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "end"; readonly finish: GeneratorFinish; readonly usage: GeneratorUsage }

/**
 * `busy`: trying again later may work. `refused`: only the person who chose the model can resolve it. `failed`: the
 * server or the connection failed. `message` is a sentence without credentials.
 */
export class GenerationFailed extends Data.TaggedError("GenerationFailed")<{
  readonly kind: "busy" | "refused" | "failed" | "timeout"
  readonly message: string
}> {}

export class Generator extends Context.Service<
  Generator,
  {
    /** Interrupting it closes the connection, which tells the server to stop. */
    readonly complete: (request: GenerateRequest) => Effect.Effect<Generated, GenerationFailed>
    /** The connection closes with the stream, even if the reader stops early. */
    readonly stream: (request: GenerateRequest) => Stream.Stream<GeneratorPiece, GenerationFailed>
  }
>()("dowser/ports/Generator") {}
