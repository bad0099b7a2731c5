/**
 * An ONNX graph as bytes: nodes in the order in which they run, the tensors that they read, and the names of inputs and
 * outputs. Field numbers are from the format's `onnx.proto`.
 */
import { bytes, float, int, message, type Pieces, text } from "./protobuf.ts"

/** Element types by the format's codes. */
const KINDS = new Map([
  ["float", 1],
  ["uint8", 2],
  ["int8", 3],
  ["int32", 6],
  ["int64", 7]
] as const)
type Kind = "float" | "uint8" | "int8" | "int32" | "int64"

interface Constant {
  readonly kind: Kind
  readonly shape: ReadonlyArray<number>
  readonly data: ArrayBufferView
}
/** A string stands for a size that is known only at run time. */
interface Port {
  readonly name: string
  readonly kind: Kind
  readonly shape: ReadonlyArray<number | string>
}
type Attribute = number | string | { readonly float: number } | ReadonlyArray<number>

/** Domain of operators that are the runtime's own, not the format's. */
export const RUNTIME_DOMAIN = "com.microsoft"
const OPERATORS_VERSION = 17
const FORMAT_VERSION = 8

export class OnnxGraph {
  readonly #nodes: Array<Pieces> = []
  readonly #constants: Array<Pieces> = []
  #names = 0

  /** Adds a constant tensor; returns its name, which nodes use as an input. */
  constant({ data, kind, shape }: Constant): string {
    const name = `c${this.#names++}`
    this.#constants.push(
      message(
        5,
        ...shape.map((size) => int(1, size)),
        int(2, KINDS.get(kind)!),
        text(8, name),
        bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
      )
    )
    return name
  }
  /** Returns the names of its outputs, as many as requested. An input "" is omitted. */
  nodes(
    operator: string,
    inputs: ReadonlyArray<string>,
    outputs: number,
    attributes: Readonly<Record<string, Attribute>> = {},
    domain = ""
  ): ReadonlyArray<string> {
    const names = Array.from({ length: outputs }, () => `n${this.#names++}`)
    this.#add(operator, inputs, names, attributes, domain)
    return names
  }
  node(
    operator: string,
    inputs: ReadonlyArray<string>,
    attributes: Readonly<Record<string, Attribute>> = {},
    domain = ""
  ): string {
    return this.nodes(operator, inputs, 1, attributes, domain)[0]!
  }
  #add(
    operator: string,
    inputs: ReadonlyArray<string>,
    outputs: ReadonlyArray<string>,
    attributes: Readonly<Record<string, Attribute>>,
    domain: string
  ): void {
    this.#nodes.push(
      message(
        1,
        ...inputs.map((name) => text(1, name)),
        ...outputs.map((name) => text(2, name)),
        text(4, operator),
        ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
        text(7, domain)
      )
    )
  }
  /** Returns the file. `outputs` pairs a node's output with the name by which it is requested. */
  finish(
    inputs: ReadonlyArray<Port>,
    outputs: ReadonlyArray<{ readonly of: string; readonly as: Port }>
  ): ReadonlyArray<Uint8Array> {
    for (const { as, of } of outputs) this.#add("Identity", [of], [as.name], {}, "")
    return [
      int(1, FORMAT_VERSION),
      text(2, "dowser"),
      message(
        7,
        ...this.#nodes,
        text(2, "embedder"),
        ...this.#constants,
        ...inputs.map((each) => port(11, each)),
        ...outputs.map(({ as }) => port(12, as))
      ),
      message(8, text(1, ""), int(2, OPERATORS_VERSION)),
      message(8, text(1, RUNTIME_DOMAIN), int(2, 1))
    ].flat()
  }
}

const attribute = (name: string, value: Attribute): Pieces => {
  if (typeof value === "number") return message(5, text(1, name), int(3, value), int(20, 2))
  if (typeof value === "string") return message(5, text(1, name), text(4, value), int(20, 3))
  if ("float" in value) return message(5, text(1, name), float(2, value.float), int(20, 1))
  return message(5, text(1, name), ...value.map((each) => int(8, each)), int(20, 7))
}
const port = (field: number, { kind, name, shape }: Port): Pieces =>
  message(
    field,
    text(1, name),
    message(
      2,
      message(
        1,
        int(1, KINDS.get(kind)!),
        message(2, ...shape.map((size) => message(1, typeof size === "number" ? int(1, size) : text(2, size))))
      )
    )
  )
