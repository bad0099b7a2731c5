/**
 * The operator's list of embedding models (`--embedding-models FILE`): where each is, the hash of its bytes, and how
 * its vectors are pooled. It is read at start, which fails if the list is invalid; the models themselves are read and
 * hashed on first use.
 */
import { Schema } from "effect"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { InstalledModel, LocalModel } from "../inference/local-embedder.ts"

/** The prefix by which fields and organizations name one: `onnx/<name>`. */
export const OPERATOR_KIND = "onnx"
const MODELS_MAX = 20

const HashedFile = Schema.Struct({
  path: Schema.String.check(Schema.isMinLength(1)),
  sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
})
const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const OperatorModel = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9._-]{0,99}$/)),
  model: HashedFile,
  tokenizer: HashedFile,
  dimensions: between(1, 4_096),
  /** Maximum number of tokens that the model reads of a text. */ tokens: between(8, 8_192),
  pooling: Schema.Literals(["mean", "first", "none"]),
  /** ISO 639-1; if absent: all languages. */ languages: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z]{2}$/)))
  )
})
export type OperatorModel = typeof OperatorModel.Type
const Models = Schema.Array(OperatorModel).check(Schema.isMaxLength(MODELS_MAX))

/** A text of this many characters per token fills the model, unless its words are unusually long; the rest is cut. */
const CHARACTERS_A_TOKEN = 8
const CHARACTERS_MAX = 32_768

/** `runtime`: what runs the model, which is installed with this program's own model. */
export const operatorModel = (
  { dimensions, languages = [], model, name, pooling, tokenizer, tokens }: OperatorModel,
  runtime: () => InstalledModel
): LocalModel => ({
  model: {
    name: `${OPERATOR_KIND}/${name}`,
    dimensions,
    embedded: true,
    languages,
    charactersMax: Math.min(CHARACTERS_MAX, CHARACTERS_A_TOKEN * tokens),
    // With another tokenizer, the same weights produce different vectors.
    hash: createHash("sha256").update([model.sha256, tokenizer.sha256, tokens, pooling].join(" ")).digest("hex")
  },
  installed: runtime,
  settings: (folder) => ({ kind: "operator", folder, model, tokenizer, dimensions, tokensMax: tokens, pooling })
})

/** Paths are relative to the file's folder. Throws an error that describes what is wrong with the file. */
export const readOperatorModels = (file: string): ReadonlyArray<OperatorModel> => {
  let found: ReadonlyArray<OperatorModel>
  try {
    found = Schema.decodeUnknownSync(Models)(JSON.parse(readFileSync(file, "utf8")), { errors: "all" })
  } catch (error) {
    throw new Error(
      `The list of embedding models ${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`
    )
  }
  const names = found.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`The list of embedding models ${file} names \`${twice}\` twice.`)
  const placed = (of: typeof HashedFile.Type) => ({ ...of, path: resolve(dirname(resolve(file)), of.path) })
  return found.map((each) => ({ ...each, model: placed(each.model), tokenizer: placed(each.tokenizer) }))
}
