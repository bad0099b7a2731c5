/**
 * The model of a collection's own vectors if its organization has named none: the installed one, or one trained on the
 * collection, for a language that the other does not know and if it is not installed. Pure.
 */
import { type EmbeddingModel, readsLanguage, type TextEmbedder } from "../ports/text-embedder/text-embedder.ts"

type State = ReturnType<TextEmbedder["Service"]["state"]>
interface Installed {
  /** undefined: this program knows none. */ readonly model: EmbeddingModel | undefined
  readonly state: State
}

/** Of a collection that has no vectors: one that is being installed is waited for, where it reads the language. */
export const firstChoice = ({ model, state }: Installed, language: string | undefined): "installed" | "trained" =>
  state === "absent" || (model !== undefined && !readsLanguage(model, language)) ? "trained" : "installed"

/** Of one whose vectors are of a trained model: they serve until the other is there. */
export const nextChoice = (installed: Installed, language: string | undefined): "installed" | "trained" =>
  installed.state === "installing" ? "trained" : firstChoice(installed, language)
