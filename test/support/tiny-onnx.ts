/**
 * A model of a few words as an operator would supply one: a file that the runtime executes, and its tokenizer. Each
 * word has its own vector; those with the same meaning are nearly equal.
 */
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { OnnxGraph } from "../../src/ports/text-embedder/minilm/onnx.ts"
import type { OperatorModel } from "../../src/ports/text-embedder/operator/models-file.ts"

export const TINY_DIMENSIONS = 4
const WORDS: ReadonlyArray<readonly [word: string, vector: ReadonlyArray<number>]> = [
  ["[PAD]", [9, 9, 9, 9]],
  ["[UNK]", [0, 0, 0, 1]],
  ["[CLS]", [0, 0, 1, 0]],
  ["[SEP]", [0, 0, 0, 0]],
  ["lampe", [1, 0, 0, 0]],
  ["leuchte", [0.9, 0.1, 0, 0]],
  ["stuhl", [0, 1, 0, 0]],
  ["sessel", [0.1, 0.9, 0, 0]]
]

const graphOf = (inputs: ReadonlyArray<string>): Uint8Array => {
  const graph = new OnnxGraph()
  const table = graph.constant({
    kind: "float",
    shape: [WORDS.length, TINY_DIMENSIONS],
    data: Float32Array.from(WORDS.flatMap(([, vector]) => vector))
  })
  const rows = graph.node("Gather", [table, "input_ids"], { axis: 0 })
  return Buffer.concat(
    graph.finish(
      inputs.map((name) => ({ name, kind: "int64", shape: ["texts", "tokens"] })),
      [{ of: rows, as: { name: "last_hidden_state", kind: "float", shape: ["texts", "tokens", TINY_DIMENSIONS] } }]
    )
  )
}
const special = (id: number) => ({
  id,
  content: WORDS[id]![0],
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true
})
const tokenizer = {
  version: "1.0",
  truncation: null,
  padding: null,
  added_tokens: [0, 1, 2, 3].map(special),
  normalizer: {
    type: "BertNormalizer",
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true
  },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: {
    type: "TemplateProcessing",
    single: [
      { SpecialToken: { id: "[CLS]", type_id: 0 } },
      { Sequence: { id: "A", type_id: 0 } },
      { SpecialToken: { id: "[SEP]", type_id: 0 } }
    ],
    pair: [],
    special_tokens: {
      "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
      "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] }
    }
  },
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(WORDS.map(([word], id) => [word, id]))
  }
}
const written = (path: string, bytes: Uint8Array) => {
  writeFileSync(path, bytes)
  return { path, sha256: createHash("sha256").update(bytes).digest("hex") }
}
export const writeTinyModel = (
  folder: string,
  inputs: ReadonlyArray<string> = ["input_ids", "attention_mask", "token_type_ids"]
): OperatorModel => ({
  name: "tiny",
  model: written(join(folder, "tiny.onnx"), graphOf(inputs)),
  tokenizer: written(join(folder, "tiny.json"), Buffer.from(JSON.stringify(tokenizer))),
  dimensions: TINY_DIMENSIONS,
  tokens: 16,
  pooling: "mean",
  languages: ["de"]
})
