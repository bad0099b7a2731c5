/**
 * Texts to vectors. The port promises a vector for each text, in order, each of unit length with the model's number of
 * dimensions. Equal texts of a request are computed once. A text beyond the model's length is cut where the model stops
 * reading. A text without a word never reaches the model and gets the zero vector, which is close to nothing. A query
 * does not wait behind an import. The queue is bounded, and a full one answers `busy`.
 */
import { Context, Data, type Effect } from "effect"

/** What is known of a model whether or not it is installed. */
export interface EmbeddingModel {
  /** The name in a schema: `dowser/minilm-l6-v2`. */ readonly name: string
  readonly dimensions: number
  /** Whether it runs in this program, so that nothing leaves the machine. */ readonly embedded: boolean
  /** ISO 639-1: languages it was trained on; none if it is meant for all. */ readonly languages: ReadonlyArray<string>
  /** Limit of one text; callers that take texts from outside refuse longer ones. */ readonly charactersMax: number
  /** Hash of the weights. A field keeps it: vectors of another hash are not comparable. */ readonly hash: string
}

export const readsLanguage = ({ languages }: EmbeddingModel, language: string | undefined): boolean =>
  language === undefined || languages.length === 0 || languages.includes(language)

type EmbeddingState = "ready" | "loading" | "installing" | "absent"

export interface EmbedRequest {
  /** Name of a model. */ readonly model: string
  readonly texts: ReadonlyArray<string>
  /** A user waits for a `query`; a `document` may take its time. */ readonly priority: "query" | "document"
  /** Concurrent organizations take turns. */ readonly organizationId: string
}
export interface Embedded {
  /** One per text of the request, in order. Equal texts may share one array, which must not be modified. */
  readonly vectors: ReadonlyArray<Float32Array>
  /** Tokens that the model reads of all texts, with equal ones counted each time; 0 for a text without a word. */
  readonly inputTokens: number
}

/**
 * No vectors are available. `not_installed` lasts until somebody installs the model, `installing` and `busy` are
 * transient, `failed` is the model's or its server's fault. `message` is a sentence for the caller.
 */
export class EmbeddingUnavailable extends Data.TaggedError("EmbeddingUnavailable")<{
  readonly message: string
  readonly reason: "not_installed" | "installing" | "busy" | "failed"
  readonly retry_after_s?: number
}> {}

export class TextEmbedder extends Context.Service<
  TextEmbedder,
  {
    /** The models that this program knows, whether or not they are installed. */
    readonly models: () => ReadonlyArray<EmbeddingModel>
    /** `absent` for an unknown name. `loading`: requested, but without a first answer yet. */
    readonly state: (name: string) => EmbeddingState
    /** Interrupting it withdraws what has not started. */
    readonly embed: (request: EmbedRequest) => Effect.Effect<Embedded, EmbeddingUnavailable>
  }
>()("dowser/ports/TextEmbedder") {}
