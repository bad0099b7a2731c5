/**
 * Texts into vectors. The port promises: a vector for each text, in order, each of unit length with the model's number
 * of dimensions; equal texts of a request are computed once; a text beyond the model's length is cut where the model
 * stops reading; a text without a word never reaches the model and gets the zero vector, which is near to nothing; a
 * query does not wait behind an import; the queue is bounded, and `busy` beyond that.
 */
import { Context, Data, type Effect } from "effect"

/** What can be said of a model whether or not it is installed. */
export interface EmbeddingModel {
  /** As a schema names it: `dowser/minilm-l6-v2`. */ readonly name: string
  readonly dimensions: number
  /** Runs in this program; nothing leaves the machine. */ readonly embedded: boolean
  /** ISO 639-1, as it was trained; none where it is to be asked in all. */ readonly languages: ReadonlyArray<string>
  /** Of one text; more is refused by those who take texts from outside. */ readonly charactersMax: number
  /** Of the weights. A field keeps it: vectors of another hash are not comparable. */ readonly hash: string
}

export const readsLanguage = ({ languages }: EmbeddingModel, language: string | undefined): boolean =>
  language === undefined || languages.length === 0 || languages.includes(language)

type EmbeddingState = "ready" | "loading" | "installing" | "absent"

export interface EmbedRequest {
  /** Of a model. */ readonly model: string
  readonly texts: ReadonlyArray<string>
  /** Somebody waits for a `query`; a `document` may take its time. */ readonly priority: "query" | "document"
  /** Callers at the same time take turns. */ readonly organizationId: string
}
export interface Embedded {
  /** Of the request's texts, in order. Equal texts may share one array, which must not be modified. */
  readonly vectors: ReadonlyArray<Float32Array>
  /** What the model reads of all texts, equal ones counted each time; 0 for a text without a word. */
  readonly inputTokens: number
}

/**
 * There are no vectors. `not_installed` lasts until somebody installs the model, `installing` and `busy` are transient,
 * `failed` is the model's or its server's. `message` is a sentence for the caller.
 */
export class EmbeddingUnavailable extends Data.TaggedError("EmbeddingUnavailable")<{
  readonly message: string
  readonly reason: "not_installed" | "installing" | "busy" | "failed"
  readonly retry_after_s?: number
}> {}

export class TextEmbedder extends Context.Service<
  TextEmbedder,
  {
    /** Those that this program knows, whether or not they are installed. */
    readonly models: () => ReadonlyArray<EmbeddingModel>
    /** `absent` for an unknown name. `loading`: requested, and the first answer is still to come. */
    readonly state: (name: string) => EmbeddingState
    /** Interrupting it takes back what has not begun. */
    readonly embed: (request: EmbedRequest) => Effect.Effect<Embedded, EmbeddingUnavailable>
  }
>()("dowser/ports/TextEmbedder") {}
