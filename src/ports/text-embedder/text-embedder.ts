/**
 * Texts into vectors. The port promises: a vector for each text, in order, each of length one and with the model's
 * number of dimensions; equal texts of a request are asked of the model once; a text beyond the model's length is cut
 * where the model stops reading; a text without a word in it is never given to the model and has the vector of zeros,
 * which is near to nothing; a query does not wait behind an import; what waits is bounded, and `busy` beyond that.
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
  /** Those who ask at the same time take turns. */ readonly organizationId: string
}
export interface Embedded {
  /** Of the request's texts, in order. Equal texts may share one array: nobody writes to it. */
  readonly vectors: ReadonlyArray<Float32Array>
  /** What the model reads of all texts, equal ones counted each time; 0 for a text without a word. */
  readonly inputTokens: number
}

/**
 * There are no vectors. `not_installed` stays until somebody installs the model, `installing` and `busy` pass by
 * themselves, `failed` is the model's or its server's. `message` is a sentence for who asked.
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
    /** `absent` for a name that is no model's. `loading`: asked for, and the first answer is still to come. */
    readonly state: (name: string) => EmbeddingState
    /** Interrupting it takes back what has not begun. */
    readonly embed: (request: EmbedRequest) => Effect.Effect<Embedded, EmbeddingUnavailable>
  }
>()("dowser/ports/TextEmbedder") {}
