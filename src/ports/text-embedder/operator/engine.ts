/**
 * Runs a model that the operator provides as a file: a sentence-embedding model exported for ONNX Runtime, with the
 * inputs `input_ids`, `attention_mask` and `token_type_ids` (those it has), and a vector per text or per token. The
 * hashed bytes are the ones that run, because both files are read only once.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import {
  type InferenceEngine,
  type OnnxRuntime,
  type OnnxSession,
  type Open,
  rowsOf,
  SESSION
} from "../inference/engine.ts"
import type { HashedFile, OperatorSettings, Pooling } from "../inference/messages.ts"
import { LAYOUT, requireFrom } from "../minilm/layout.ts"
import { piecesOf } from "../minilm/tokens.ts"

const readHashed = async ({ path, sha256 }: HashedFile): Promise<Uint8Array> => {
  const bytes = await readFile(path)
  const found = createHash("sha256").update(bytes).digest("hex")
  if (found !== sha256) throw new Error(`${path} has the SHA-256 ${found}, and not the one that was named.`)
  return bytes
}

interface Tokenizer {
  readonly encode: (
    text: string,
    options: { readonly add_special_tokens: boolean }
  ) => { readonly ids: ReadonlyArray<number> }
}
/** The tokens before and after every text, according to the tokenizer's own file. */
const framesOf = (tokenizer: Tokenizer): readonly [before: ReadonlyArray<number>, behind: ReadonlyArray<number>] => {
  const inner = tokenizer.encode("a", { add_special_tokens: false }).ids
  const whole = tokenizer.encode("a", { add_special_tokens: true }).ids
  const at = whole.findIndex((_, i) => inner.every((id, k) => whole[i + k] === id))
  if (at < 0) throw new Error("The tokenizer makes other tokens of a text when it puts its own around it.")
  return [whole.slice(0, at), whole.slice(at + inner.length)]
}
/**
 * Text is tokenized in pieces of some 512 characters, so that hostile text costs no more; at a seam, a tokenizer that
 * looks at preceding characters may produce one different token.
 */
const tokensOf = (tokenizer: Tokenizer, tokensMax: number) => {
  const [before, behind] = framesOf(tokenizer)
  const room = tokensMax - before.length - behind.length
  return (text: string): ReadonlyArray<number> => {
    const ids: Array<number> = []
    for (const piece of piecesOf(text)) {
      ids.push(...tokenizer.encode(piece, { add_special_tokens: false }).ids)
      if (ids.length >= room) break
    }
    return ids.length === 0 ? [] : [...before, ...ids.slice(0, room), ...behind]
  }
}
/** The id that pads short rows; the mask hides it in any case. */
const paddingIn = (file: { readonly padding?: { readonly pad_id?: number } | null }): number =>
  file.padding?.pad_id ?? 0

/** One unit vector per text. `data` holds `longest` vectors per text, unless the model pools by itself. */
const pooled = (
  data: Float32Array,
  tokens: ReadonlyArray<ReadonlyArray<number>>,
  longest: number,
  { dimensions, pooling }: { readonly dimensions: number; readonly pooling: Pooling }
): Float32Array => {
  const vectors = new Float32Array(tokens.length * dimensions)
  const rows = pooling === "none" ? 1 : longest
  for (const [text, { length }] of tokens.entries()) {
    const own = vectors.subarray(text * dimensions, (text + 1) * dimensions)
    for (let token = 0; token < (pooling === "mean" ? length : 1); token++)
      for (let k = 0; k < dimensions; k++) own[k]! += data[(text * rows + token) * dimensions + k]!
    const norm = Math.hypot(...own)
    if (norm > 0) for (let k = 0; k < dimensions; k++) own[k]! /= norm
  }
  return vectors
}

/** The output to pool, by the names that exporters use. */
const outputOf = ({ outputNames }: OnnxSession, pooling: Pooling): string => {
  const wanted =
    pooling === "none" ? ["sentence_embedding", "text_embeds", "embeddings"] : ["last_hidden_state", "token_embeddings"]
  return wanted.find((name) => outputNames.includes(name)) ?? outputNames[0]!
}
const INPUTS = ["input_ids", "attention_mask", "token_type_ids"]

const engineOf = (
  { Tensor }: OnnxRuntime,
  session: OnnxSession,
  padding: number,
  settings: OperatorSettings
): InferenceEngine => {
  const unknown = session.inputNames.filter((name) => !INPUTS.includes(name))
  if (unknown.length > 0) throw new Error(`The model wants inputs that are not known: ${unknown.join(", ")}.`)
  const output = outputOf(session, settings.pooling)
  return {
    kind: "native",
    run: async ({ tokens }) => {
      const { ids, longest, mask } = rowsOf(tokens, padding)
      const shape = [tokens.length, longest]
      const given = new Map([
        ["input_ids", ids],
        ["attention_mask", BigInt64Array.from(mask, BigInt)],
        ["token_type_ids", new BigInt64Array(ids.length)]
      ])
      const inputs = Object.fromEntries(
        session.inputNames.map((name) => [name, new Tensor("int64", given.get(name)!, shape)])
      )
      const answer = new Map(Object.entries(await session.run(inputs))).get(output)!
      const rows = settings.pooling === "none" ? tokens.length : ids.length
      if (answer.data.length !== rows * settings.dimensions)
        throw new Error(
          `The model's output \`${output}\` has the shape ${answer.dims.join(" × ")}, which is not ${settings.dimensions} numbers for each ${settings.pooling === "none" ? "text" : "token"}.`
        )
      return pooled(answer.data, tokens, longest, settings)
    },
    close: () => session.release()
  }
}

export const openOperatorModel: Open<OperatorSettings> = async (settings) => {
  const { dimensions, folder, model, tokenizer: file, tokensMax } = settings
  const { Tokenizer: Made } = requireFrom(folder)(join(folder, LAYOUT.tokenizers)) as {
    readonly Tokenizer: new (tokenizer: unknown, configuration: unknown) => Tokenizer
  }
  const definition = JSON.parse(Buffer.from(await readHashed(file)).toString("utf8")) as Parameters<typeof paddingIn>[0]
  const tokens = tokensOf(new Made(definition, {}), tokensMax)
  const runtime = requireFrom(folder)("onnxruntime-node") as OnnxRuntime
  const session = await runtime.InferenceSession.create(await readHashed(model), SESSION)
  return { engine: engineOf(runtime, session, paddingIn(definition), settings), tokens, dimensions }
}
