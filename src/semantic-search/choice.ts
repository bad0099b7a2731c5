/**
 * The model of a collection's own vectors if its organization has named none: the installed one, or one trained on the
 * collection, for a language that the installed one does not know and if none is installed. Pure.
 */
import { type EmbeddingModel, readsLanguage, type TextEmbedder } from "../ports/text-embedder/text-embedder.ts"

type State = ReturnType<TextEmbedder["Service"]["state"]>
interface Installed {
  /** Undefined if the embedder has no model of the configured name. */ readonly model: EmbeddingModel | undefined
  readonly state: State
}

/** For a collection without vectors: a model that is being installed is waited for, if it reads the language. */
export const firstChoice = ({ model, state }: Installed, language: string | undefined): "installed" | "trained" =>
  state === "absent" || (model !== undefined && !readsLanguage(model, language)) ? "trained" : "installed"

/** For a collection with vectors of a trained model: they are used until the other model is installed. */
export const nextChoice = (installed: Installed, language: string | undefined): "installed" | "trained" =>
  installed.state === "installing" ? "trained" : firstChoice(installed, language)
