/**
 * Finds functions in the repository's own programs that are longer than a screen or two: a reader has to hold all of
 * one in mind, and its parts cannot be tested. A function is counted from its first line to its last, as formatted; one
 * inside another counts for both.
 */
import { parseAst } from "rolldown/parseAst"

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as { readonly type?: unknown }).type === "string"

interface LongFunction {
  readonly path: string
  /** Its own name, or that of the variable, property or method that it is the value of. */ readonly name: string
  readonly lines: number
}

const functions: ReadonlySet<string> = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])
const named: ReadonlyMap<string, string> = new Map([
  ["VariableDeclarator", "id"],
  ["MethodDefinition", "key"],
  ["PropertyDefinition", "key"],
  ["Property", "key"]
])
const nameIn = (node: unknown): string | undefined =>
  isNode(node) && (typeof node.name === "string" || typeof node.value === "string")
    ? String(node.name ?? node.value)
    : undefined

/** Every function of the text with more than `linesMax` lines, in the order of the text. */
export const longFunctions = (path: string, text: string, linesMax: number): ReadonlyArray<LongFunction> => {
  const found: Array<LongFunction> = []
  const visit = (node: Node, around: string): void => {
    const key = named.get(node.type)
    let name = (key === undefined ? undefined : nameIn(node[key])) ?? around
    // A declaration of types alone has no body.
    if (functions.has(node.type) && isNode(node.body)) {
      name = nameIn(node.id) ?? name
      const lines = text.slice(node.start, node.end).split("\n").length
      if (lines > linesMax) found.push({ path, name, lines })
    }
    for (const value of Object.values(node))
      for (const inner of Array.isArray(value) ? value : [value]) if (isNode(inner)) visit(inner, name)
  }
  visit(parseAst(text, { lang: "ts" }) as unknown as Node, "")
  return found
}
