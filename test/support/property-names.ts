/**
 * Finds, in the repository's own programs, plain objects that are read by a name that is not a literal: `table[name]`
 * returns what every object inherits for `constructor` and the like. Such a lookup must use a `Map`, be guarded by
 * `Object.hasOwn(table, name)`, or go through `ownValue` of the engine package.
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
const nodeAt = (node: Node, key: string): Node | undefined => {
  const value = node[key]
  return isNode(value) ? value : undefined
}
const nodesAt = (node: Node, key: string): ReadonlyArray<Node> =>
  Array.isArray(node[key]) ? (node[key] as ReadonlyArray<unknown>).filter(isNode) : []
const walk = (node: Node, visit: (node: Node) => void): void => {
  visit(node)
  for (const key of Object.keys(node)) {
    const value = node[key]
    if (isNode(value)) walk(value, visit)
    else if (Array.isArray(value)) for (const item of value) if (isNode(item)) walk(item, visit)
  }
}
/** The value inside type assertions and the like. */
const bare = (node: Node | undefined): Node | undefined =>
  node !== undefined &&
  [
    "TSAsExpression",
    "TSSatisfiesExpression",
    "TSNonNullExpression",
    "ParenthesizedExpression",
    "ChainExpression"
  ].includes(node.type)
    ? bare(nodeAt(node, "expression"))
    : node
const nameOf = (node: Node | undefined): string | undefined =>
  node?.type === "Identifier" ? String(node.name) : undefined

/** Types that accept any text as a key: `Record<string, …>`, an index signature, a JSON object. */
const OPEN = /^(Readonly<)?(Record<string,|\{ (readonly )?\[[a-z]+: string\])|^(Json|Document|Members|Body)$/
const isOpenType = (text: string): boolean => OPEN.test(text)

interface Module {
  readonly path: string
  /** Constants that are written as an object. */ readonly tables: ReadonlySet<string>
  /** Local names of imports, with their exported name and the module as written. */ readonly imports: ReadonlyMap<
    string,
    { readonly name: string; readonly from: string }
  >
  /** `table[name]` and `name in table`. */ readonly asked: ReadonlyArray<{
    readonly object: string
    readonly by: string
    readonly isOpen: boolean
  }>
}
export const readModule = (path: string, text: string): Module => {
  const program = parseAst(text, { lang: "ts" }) as unknown as Node
  const tables = new Set<string>(),
    open = new Set<string>()
  const imports = new Map<string, { readonly name: string; readonly from: string }>()
  for (const statement of nodesAt(program, "body")) {
    const declaration = statement.type === "ExportNamedDeclaration" ? nodeAt(statement, "declaration") : statement
    if (declaration?.type === "VariableDeclaration")
      for (const one of nodesAt(declaration, "declarations")) {
        const name = nameOf(nodeAt(one, "id"))
        if (name !== undefined && bare(nodeAt(one, "init"))?.type === "ObjectExpression") tables.add(name)
      }
    if (statement.type === "ImportDeclaration")
      for (const one of nodesAt(statement, "specifiers")) {
        const local = nameOf(nodeAt(one, "local")),
          name = nameOf(nodeAt(one, "imported"))
        if (local !== undefined && name !== undefined)
          imports.set(local, { name, from: String(nodeAt(statement, "source")?.value) })
      }
  }
  walk(program, (node) => {
    const annotation = node.type === "Identifier" ? nodeAt(node, "typeAnnotation") : undefined
    const type = annotation === undefined ? undefined : nodeAt(annotation, "typeAnnotation")
    if (type !== undefined && isOpenType(text.slice(type.start, type.end))) open.add(String(node.name))
  })
  const asked: Array<{ readonly object: string; readonly by: string; readonly isOpen: boolean }> = []
  const ask = (object: Node | undefined, by: Node | undefined): void => {
    const name = nameOf(bare(object)),
      key = bare(by)
    if (name === undefined || key === undefined || key.type === "Literal" || key.type === "PrivateIdentifier") return
    const written = text.slice(key.start, key.end)
    // Guarded, or a name from the object's own keys.
    if (
      [
        `Object.hasOwn(${name}, ${written})`,
        `for (const ${written} of Object.keys(${name})`,
        `for (const ${written} in ${name})`
      ].some((guard) => text.includes(guard))
    )
      return
    asked.push({ object: name, by: written, isOpen: open.has(name) })
  }
  const written = new Set<Node>()
  walk(program, (node) => {
    const target =
      node.type === "AssignmentExpression" && node.operator === "="
        ? nodeAt(node, "left")
        : node.type === "UnaryExpression" && node.operator === "delete"
          ? nodeAt(node, "argument")
          : undefined
    if (target !== undefined) written.add(target)
  })
  walk(program, (node) => {
    if (node.type === "MemberExpression" && node.computed === true && !written.has(node))
      ask(nodeAt(node, "object"), nodeAt(node, "property"))
    if (node.type === "BinaryExpression" && node.operator === "in") ask(nodeAt(node, "right"), nodeAt(node, "left"))
  })
  return { path, tables, imports, asked }
}

/** `path: table[name]` for each unguarded lookup. `resolve` returns the path of a module as written in another. */
export const unguardedLookups = (
  modules: ReadonlyArray<Module>,
  resolve: (from: string, written: string) => string
): ReadonlyArray<string> => {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  return [
    ...new Set(
      modules.flatMap(({ asked, imports, path, tables }) =>
        asked.flatMap(({ by, isOpen, object }) => {
          const imported = imports.get(object)
          const isTable =
            tables.has(object) ||
            (imported !== undefined && byPath.get(resolve(path, imported.from))?.tables.has(imported.name) === true)
          return isTable || isOpen ? [`${path}: ${object}[${by}]`] : []
        })
      )
    )
  ].sort()
}
