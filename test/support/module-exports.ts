/**
 * Finds exports of the repository's own programs that no file imports. A namespace (`import * as x`) uses the members
 * read from it, or everything if it is passed on; `import("…")` uses the members that its file names. Exports of an
 * entry count as used.
 */
import { parseAst } from "rolldown/parseAst"

interface Node {
  readonly type: string
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
const walk = (node: Node, visit: (node: Node, parent: Node) => void, parent: Node = node): void => {
  visit(node, parent)
  for (const key of Object.keys(node)) {
    const value = node[key]
    if (isNode(value)) walk(value, visit, node)
    else if (Array.isArray(value)) for (const item of value) if (isNode(item)) walk(item, visit, node)
  }
}
const nameOf = (node: Node | undefined): string | undefined =>
  node?.type === "Identifier" ? String(node.name) : node?.type === "Literal" ? String(node.value) : undefined
/** The names that a pattern on the left of `=` binds. */
const namesIn = (pattern: Node | undefined): ReadonlyArray<string> => {
  if (pattern === undefined) return []
  if (pattern.type === "Identifier") return [String(pattern.name)]
  if (pattern.type === "ObjectPattern")
    return nodesAt(pattern, "properties").flatMap((property) =>
      namesIn(nodeAt(property, property.type === "RestElement" ? "argument" : "value"))
    )
  if (pattern.type === "ArrayPattern") return nodesAt(pattern, "elements").flatMap((element) => namesIn(element))
  return namesIn(nodeAt(pattern, pattern.type === "AssignmentPattern" ? "left" : "argument"))
}

const EVERYTHING = "*"
interface ModuleExports {
  readonly path: string
  /** Values and types. */ readonly exports: ReadonlySet<string>
  /** `export * from`. */ readonly passesOn: ReadonlyArray<string>
  readonly uses: ReadonlyArray<{ readonly name: string; readonly from: string }>
}

export const readExports = (path: string, text: string): ModuleExports => {
  const program = parseAst(text, { lang: "ts" }) as unknown as Node
  const exports = new Set<string>(),
    passesOn: Array<string> = [],
    uses: Array<{ readonly name: string; readonly from: string }> = []
  const namespaces = new Map<string, string>()
  const sourceOf = (node: Node) => nameOf(nodeAt(node, "source"))
  for (const statement of nodesAt(program, "body")) {
    const from = sourceOf(statement)
    if (statement.type === "ImportDeclaration" && from !== undefined)
      for (const one of nodesAt(statement, "specifiers")) {
        if (one.type === "ImportNamespaceSpecifier") namespaces.set(nameOf(nodeAt(one, "local"))!, from)
        else uses.push({ from, name: nameOf(nodeAt(one, "imported")) ?? "default" })
      }
    if (statement.type === "ExportAllDeclaration" && from !== undefined) {
      const name = nameOf(nodeAt(statement, "exported"))
      if (name === undefined) passesOn.push(from)
      else {
        exports.add(name)
        uses.push({ from, name: EVERYTHING })
      }
    }
    if (statement.type !== "ExportNamedDeclaration") continue
    for (const one of nodesAt(statement, "specifiers")) {
      exports.add(nameOf(nodeAt(one, "exported"))!)
      if (from !== undefined) uses.push({ from, name: nameOf(nodeAt(one, "local"))! })
    }
    const declaration = nodeAt(statement, "declaration")
    if (declaration === undefined) continue
    for (const name of declaration.type === "VariableDeclaration"
      ? nodesAt(declaration, "declarations").flatMap((one) => namesIn(nodeAt(one, "id")))
      : namesIn(nodeAt(declaration, "id")))
      exports.add(name)
  }
  walk(program, (node, parent) => {
    if (node.type === "ImportExpression" || node.type === "TSImportType") {
      const from = sourceOf(node)
      if (from !== undefined) for (const [word] of text.matchAll(/[\w$]+/g)) uses.push({ from, name: word })
    }
    const from = node.type === "Identifier" ? namespaces.get(String(node.name)) : undefined
    if (from === undefined || /^Import/.test(parent.type)) return
    const isAsked =
      (parent.type === "MemberExpression" && parent.object === node && parent.computed !== true) ||
      (parent.type === "TSQualifiedName" && parent.left === node)
    if (isAsked)
      uses.push({ from, name: nameOf(nodeAt(parent, parent.type === "MemberExpression" ? "property" : "right"))! })
    // A property of that name elsewhere, or a key of an object.
    else if (
      !(
        (parent.type === "MemberExpression" && parent.property === node && parent.computed !== true) ||
        (parent.type === "Property" && parent.key === node && parent.value !== node && parent.shorthand !== true)
      )
    )
      uses.push({ from, name: EVERYTHING })
  })
  return { path, exports, passesOn, uses }
}

/** `path: name` for each export without an import. `resolve` returns the path of a module as written in another. */
export const unusedExports = (
  modules: ReadonlyArray<ModuleExports>,
  entries: ReadonlyArray<string>,
  resolve: (from: string, written: string) => string
): ReadonlyArray<string> => {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const used = new Map<string, Set<string>>()
  const use = (path: string, name: string): void => {
    const module = byPath.get(path),
      names = used.get(path) ?? new Set<string>()
    if (module === undefined || names.has(name)) return
    used.set(path, names.add(name))
    if (!module.exports.has(name)) for (const other of module.passesOn) use(resolve(path, other), name)
  }
  for (const path of entries) use(path, EVERYTHING)
  for (const { path, uses } of modules)
    for (const { from, name } of uses) if (/^(\.|@dowser\/)/.test(from)) use(resolve(path, from), name)
  return modules
    .flatMap(({ exports, path }) =>
      used.get(path)?.has(EVERYTHING) === true
        ? []
        : [...exports].filter((name) => used.get(path)?.has(name) !== true).map((name) => `${path}: ${name}`)
    )
    .sort()
}
