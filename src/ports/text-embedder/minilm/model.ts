/** The model that the first start installs: MiniLM, for English. */
import type { Layer } from "effect"
import {
  type InstalledModel,
  layerLocalModels,
  type LocalEmbedderOptions,
  type LocalModel
} from "../inference/local-embedder.ts"
import type { TextEmbedder } from "../text-embedder.ts"
import { HIDDEN } from "./graph.ts"
import { MODEL_NAME, WEIGHTS_SHA256 } from "./layout.ts"

interface MiniLmOptions {
  readonly installed: () => InstalledModel
  /** Skips the native runtime. */ readonly isPortable?: boolean
}
export const miniLm = ({ installed, isPortable = false }: MiniLmOptions): LocalModel => ({
  model: {
    name: MODEL_NAME,
    dimensions: HIDDEN,
    embedded: true,
    languages: ["en"],
    charactersMax: 8_192,
    hash: WEIGHTS_SHA256
  },
  installed,
  settings: (folder) => ({ kind: "minilm", folder, isPortable })
})
/** A layer with this model only. */
export const layerMiniLm = (options: LocalEmbedderOptions & MiniLmOptions): Layer.Layer<TextEmbedder> =>
  layerLocalModels([miniLm(options)], options)
