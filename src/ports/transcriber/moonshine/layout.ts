/** Where the files of an installed transcriber are, relative to its folder, and the shape of its two graphs. */

/** The more accurate one first. */
export const TRANSCRIBER_SIZES = ["base", "tiny"] as const
export type TranscriberSize = (typeof TRANSCRIBER_SIZES)[number]
/** The model that tells speech from other sounds, installed with each of them. */
export const SPEECH_NAME = "dowser/silero-v5"
export const transcriberName = (size: TranscriberSize): string => `dowser/moonshine-${size}`

const TOKENS = "node_modules/llama-tokenizer-js/llama-tokenizer.js"
const graphs = (folder: string) => ({
  tokens: TOKENS,
  encoder: `${folder}/encoder_model.onnx`,
  decoder: `${folder}/decoder_model_merged.onnx`
})
const shapes = {
  tiny: {
    layers: 6,
    heads: 8,
    headSize: 36,
    ...graphs("node_modules/@moonshine-ai/moonshine-js/dist/model/tiny/quantized")
  },
  base: {
    layers: 8,
    heads: 8,
    headSize: 52,
    ...graphs("node_modules/@usefulsensors/moonshine-js/dist/model/base/quantized")
  }
} as const
const bySize = new Map(Object.entries(shapes))
export const shapeOf = (size: TranscriberSize): (typeof shapes)[TranscriberSize] => bySize.get(size)!
