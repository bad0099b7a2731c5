/**
 * MiniLM as a graph: words and positions, six layers of attention and two sums, the mean over the words, unit length.
 *
 * In the small precision, tables are stored as bytes with a scale per row, and their operands become bytes too, with a
 * scale per word: a text's vector does not depend on its neighbours. (The runtime's own quantization has one scale per
 * batch: the same text gets vectors whose cosine is .98 between batches.) Weights use 127 of the 255 values, so that
 * processors that add pairs of products in 16 bits never saturate, and all get the same vectors. In the full precision
 * everything is as trained; the small one is tested against it.
 */
import { OnnxGraph, RUNTIME_DOMAIN } from "./onnx.ts"
import type { Safetensors, Tensor } from "./safetensors.ts"

export const HIDDEN = 384
/** Maximum number of tokens that are read of a text. */
export const TOKENS_MAX = 256
const HEADS = 12
const LAYERS = 6
const EPSILON = 1e-12
const WORD_TOP = 127,
  WEIGHT_TOP = 63,
  VALUE_TOP = 127,
  VALUE_ZERO = 128
/** The format's code for 32-bit floats. */
const FLOAT = 1

type Precision = "full" | "small"

/** Quantizes rows to bytes from -`top` to `top`, with the scale of each row. */
const rowsOf = ({ shape: [rows = 0, columns = 0], values }: Tensor, top: number) => {
  const data = new Int8Array(values.length)
  const scales = new Float32Array(rows)
  for (let row = 0; row < rows; row++) {
    let largest = 0
    for (let i = row * columns; i < (row + 1) * columns; i++) largest = Math.max(largest, Math.abs(values[i]!))
    const scale = (scales[row] = largest === 0 ? 1 : largest / top)
    for (let i = row * columns; i < (row + 1) * columns; i++) data[i] = Math.round(values[i]! / scale)
  }
  return { data, scales }
}
const transposed = <A extends Float32Array | Int8Array>(from: A, into: A, rows: number, columns: number): A => {
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) into[column * rows + row] = from[row * columns + column]!
  return into
}
const joined = (parts: ReadonlyArray<Float32Array>): Float32Array => {
  const values = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    values.set(part, at)
    at += part.length
  }
  return values
}

/** A product without its bias, which the next node adds. */
interface Linear {
  readonly product: string
  readonly bias: string
}

class MiniLm {
  readonly #graph = new OnnxGraph()
  readonly #weights: Safetensors
  readonly #precision: Precision
  /** Shapes, zeros and scales that nodes share. */
  readonly #asMatrix = this.#integers([-1, HIDDEN])
  readonly #one = this.#floats(Float32Array.of(1), [])
  readonly #valueStep = this.#floats(Float32Array.of(1 / VALUE_TOP), [])
  readonly #least = this.#floats(Float32Array.of(1e-12), [])
  readonly #zero = this.#graph.constant({ kind: "uint8", shape: [1], data: Uint8Array.of(VALUE_ZERO) })
  readonly #shape: string
  readonly #zeros: string

  constructor(weights: Safetensors, precision: Precision) {
    this.#weights = weights
    this.#precision = precision
    this.#shape = this.#node("Shape", ["ids"])
    const texts = this.#node("ReduceProd", [this.#shape], { axes: [0], keepdims: 1 })
    this.#zeros = this.#node("Expand", [this.#zero, texts])
  }
  #integers(values: ReadonlyArray<number>): string {
    return this.#graph.constant({ kind: "int64", shape: [values.length], data: BigInt64Array.from(values, BigInt) })
  }
  #floats(data: Float32Array, shape: ReadonlyArray<number>): string {
    return this.#graph.constant({ kind: "float", shape, data })
  }
  #trained(name: string): string {
    const { shape, values } = this.#weights.tensor(name)
    return this.#floats(values, shape)
  }
  #node(...given: Parameters<OnnxGraph["node"]>): string {
    return this.#graph.node(...given)
  }
  #ours(operator: string, inputs: ReadonlyArray<string>, attributes: Parameters<OnnxGraph["node"]>[2] = {}): string {
    return this.#graph.node(operator, inputs, attributes, RUNTIME_DOMAIN)
  }

  #words(ids: string): string {
    const words = this.#weights.tensor("embeddings.word_embeddings.weight")
    if (this.#precision === "full") return this.#node("Gather", [this.#floats(words.values, words.shape), ids])
    const { data, scales } = rowsOf(words, WORD_TOP)
    const rows = this.#graph.constant({ kind: "int8", shape: words.shape, data })
    const gathered = this.#node("Cast", [this.#node("Gather", [rows, ids])], { to: FLOAT })
    return this.#node("Mul", [gathered, this.#node("Gather", [this.#floats(scales, [scales.length, 1]), ids])])
  }
  /** Embeddings of the positions 0, 1, 2 …, plus the embedding of the first sentence, which every word gets. */
  #places(): string {
    const table = this.#weights.tensor("embeddings.position_embeddings.weight").values.slice(0, TOKENS_MAX * HIDDEN)
    const kind = this.#weights.tensor("embeddings.token_type_embeddings.weight").values
    for (let i = 0; i < table.length; i++) table[i] = table[i]! + kind[i % HIDDEN]!
    const tokens = this.#node("Slice", [this.#shape, this.#integers([1]), this.#integers([2])])
    return this.#node("Slice", [
      this.#floats(table, [TOKENS_MAX, HIDDEN]),
      this.#integers([0]),
      tokens,
      this.#integers([0])
    ])
  }
  /** Rows quantized to bytes around `VALUE_ZERO`, and the scale of each row. */
  #quantized(input: string) {
    const largest = this.#node("ReduceMax", [this.#node("Abs", [input])], { axes: [1], keepdims: 0 })
    const scales = this.#node("Max", [this.#node("Mul", [largest, this.#valueStep]), this.#least])
    return { values: this.#node("QuantizeLinear", [input, scales, this.#zeros], { axis: 0 }), scales }
  }
  /** Multiplies rows by the weights of one name, or by those of several names concatenated. */
  #linear(input: string, names: ReadonlyArray<string>): Linear {
    const parts = names.map((name) => this.#weights.tensor(`${name}.weight`))
    const columns = parts[0]!.shape[1]!
    const rows = parts.reduce((sum, { shape }) => sum + shape[0]!, 0)
    const values = joined(parts.map((part) => part.values))
    const biases = joined(names.map((name) => this.#weights.tensor(`${name}.bias`).values))
    const bias = this.#floats(biases, [rows])
    if (this.#precision === "full") {
      const weight = transposed(values, new Float32Array(values.length), rows, columns)
      return { product: this.#node("MatMul", [input, this.#floats(weight, [columns, rows])]), bias }
    }
    const { data, scales } = rowsOf({ shape: [rows, columns], values }, WEIGHT_TOP)
    const weight = this.#graph.constant({
      kind: "int8",
      shape: [columns, rows],
      data: transposed(data, new Int8Array(data.length), rows, columns)
    })
    const quantized = this.#quantized(input)
    const product = this.#ours("MatMulIntegerToFloat", [
      quantized.values,
      weight,
      this.#one,
      this.#floats(scales, [rows]),
      this.#zero
    ])
    return {
      product: this.#node("Mul", [product, this.#node("Unsqueeze", [quantized.scales, this.#integers([1])])]),
      bias
    }
  }
  /** The sum of both, with each row normalized to zero mean and unit variance. */
  #normalized({ bias, product }: Linear, skip: string, name: string): string {
    return this.#ours(
      "SkipLayerNormalization",
      [product, skip, this.#trained(`${name}.weight`), this.#trained(`${name}.bias`), bias],
      { epsilon: { float: EPSILON } }
    )
  }
  #layer(input: string, mask: string, layer: number): string {
    const at = `encoder.layer.${layer}`
    const asked = this.#linear(
      input,
      ["query", "key", "value"].map((part) => `${at}.attention.self.${part}`)
    )
    const shape = this.#node("Concat", [this.#shape, this.#integers([3 * HIDDEN])], { axis: 0 })
    const parts = this.#graph.nodes("Split", [this.#node("Reshape", [asked.product, shape])], 3, { axis: 2 })
    const seen = this.#ours("MultiHeadAttention", [...parts, asked.bias, mask], { num_heads: HEADS })
    const attended = this.#normalized(
      this.#linear(this.#node("Reshape", [seen, this.#asMatrix]), [`${at}.attention.output.dense`]),
      input,
      `${at}.attention.output.LayerNorm`
    )
    const wide = this.#linear(attended, [`${at}.intermediate.dense`])
    return this.#normalized(
      this.#linear(this.#ours("BiasGelu", [wide.product, wide.bias]), [`${at}.output.dense`]),
      attended,
      `${at}.output.LayerNorm`
    )
  }
  /** The mean over the words that are not padding, scaled to unit length. */
  #mean(words: string, mask: string): string {
    const shape = this.#node("Concat", [this.#shape, this.#integers([HIDDEN])], { axis: 0 })
    const there = this.#node("Unsqueeze", [this.#node("Cast", [mask], { to: FLOAT }), this.#integers([2])])
    const kept = this.#node("Mul", [this.#node("Reshape", [words, shape]), there])
    const sum = this.#node("ReduceSum", [kept, this.#integers([1])], { keepdims: 0 })
    return this.#node("LpNormalization", [sum], { axis: 1, p: 2 })
  }
  write(report: (done: number) => void): ReadonlyArray<Uint8Array> {
    const [ids, mask] = ["ids", "mask"]
    const summed = this.#node("Add", [this.#words(ids), this.#places()])
    const first = "embeddings.LayerNorm"
    const normalized = this.#node(
      "LayerNormalization",
      [summed, this.#trained(`${first}.weight`), this.#trained(`${first}.bias`)],
      { axis: -1, epsilon: { float: EPSILON } }
    )
    let words = this.#node("Reshape", [normalized, this.#asMatrix])
    for (let layer = 0; layer < LAYERS; layer++) {
      report((layer + 1) / (LAYERS + 1))
      words = this.#layer(words, mask, layer)
    }
    const texts = ["texts", "tokens"]
    return this.#graph.finish(
      [
        { name: ids, kind: "int64", shape: texts },
        { name: mask, kind: "int32", shape: texts }
      ],
      [{ of: this.#mean(words, mask), as: { name: "vectors", kind: "float", shape: ["texts", HIDDEN] } }]
    )
  }
}

/** The file in pieces: inputs `ids` and `mask` of [texts, tokens], output `vectors`. `report`: from 0 to 1. */
export const writeMiniLm = (
  weights: Safetensors,
  precision: Precision,
  report: (done: number) => void = () => {}
): ReadonlyArray<Uint8Array> => new MiniLm(weights, precision).write(report)
