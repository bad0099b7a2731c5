/**
 * API pages, one per group of operations, generated from the OpenAPI documents and thus from the operations
 * themselves: nothing is written by hand, so nothing can be outdated. Pure.
 */
import GithubSlugger from "github-slugger"

type Json = Readonly<Record<string, unknown>>
interface ApiOperation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<Json>
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: unknown; example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, { readonly description?: string }>>
}
export interface ApiDocument {
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly components: { readonly schemas?: Readonly<Record<string, unknown>> }
}
export interface ApiPage {
  readonly id: string
  readonly label: string
  readonly text: string
}

const TWINS = "console: "
/** A text that fits into one table cell. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replace(/\s+/g, " ").trim()
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The type of a schema, in a word or two. */
const typeOf = (schema: unknown): string => {
  if (!isJson(schema)) return "any"
  const { $ref: reference, anyOf, enum: values, items, type } = schema
  if (typeof reference === "string") return reference.split("/").at(-1) ?? "object"
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ")
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map(typeOf))].join(" or ")
  if (type === "array") return `list of ${typeOf(items)}`
  return typeof type === "string" ? type : "any"
}
const boundsOf = (schema: unknown): string => {
  if (!isJson(schema)) return ""
  const parts = [schema, ...(Array.isArray(schema.allOf) ? schema.allOf.filter(isJson) : [])]
  const find = (name: string) => new Map(parts.flatMap((part) => Object.entries(part))).get(name)
  const bounds: ReadonlyArray<readonly [name: string, words: string]> = [
    ["minimum", "at least"],
    ["maximum", "at most"],
    ["maxLength", "characters at most"],
    ["maxItems", "entries at most"]
  ]
  return bounds
    .flatMap(([name, words]) => (find(name) === undefined ? [] : [`${words} ${String(find(name))}`]))
    .join(", ")
}
const described = (schema: unknown, more = ""): string =>
  cell(
    [typeOf(schema), boundsOf(schema), more, isJson(schema) ? String(schema.description ?? "") : ""]
      .filter((text) => text !== "")
      .join("; ")
  )

const parametersOf = ({ parameters = [] }: ApiOperation): string => {
  if (parameters.length === 0) return ""
  const rows = parameters.map(
    ({ description, in: place, name, required, schema }) =>
      `| \`${String(name)}\` | ${String(place)}${required === true ? ", required" : ""} | ${described(schema, String(description ?? ""))} |`
  )
  return `\n| Parameter | Where | What |\n|---|---|---|\n${rows.join("\n")}\n`
}

const schemaOf = (schema: unknown, { components }: ApiDocument): unknown => {
  const name = isJson(schema) && typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1)! : undefined
  const known = new Map(Object.entries(components.schemas ?? {}))
  return name === undefined ? schema : known.get(name)
}
const bodyOf = ({ requestBody }: ApiOperation, document: ApiDocument): string => {
  if (requestBody === undefined) return ""
  const [[media, { example, schema }] = ["", {}]] = Object.entries(requestBody.content)
  const whole = schemaOf(schema, document)
  const needed = new Set(isJson(whole) && Array.isArray(whole.required) ? whole.required : [])
  const rows = Object.entries(isJson(whole) && isJson(whole.properties) ? whole.properties : {}).map(
    ([name, one]) => `| \`${name}\` | ${needed.has(name) ? "required" : "optional"} | ${described(one)} |`
  )
  const table = rows.length === 0 ? "" : `\n| Member | | What |\n|---|---|---|\n${rows.join("\n")}\n`
  const shown = typeof example === "string" ? example : JSON.stringify(example, undefined, 2)
  const block =
    example === undefined ? "" : `\n\`\`\`${media === "application/json" ? "json" : "text"}\n${shown}\n\`\`\`\n`
  return `\nBody: \`${media}\`.\n${table}${block}`
}

interface Placed {
  readonly method: string
  readonly path: string
  readonly operation: ApiOperation
  readonly document: ApiDocument
}
const operationText = ({ document, method, operation, path }: Placed): string => {
  const answers = Object.entries(operation.responses).map(
    ([status, { description = "" }]) => `- \`${status}\` ${description}`
  )
  return `\n## ${operation.summary ?? operation.operationId}\n
\`\`\`http\n${method.toUpperCase()} ${path}\n\`\`\`\n
${operation.description ?? ""}\n${parametersOf(operation)}${bodyOf(operation, document)}\nAnswers:\n\n${answers.join("\n")}\n`
}
const listed = (all: ReadonlyArray<Placed>): string =>
  `\n| Operation | Request |\n|---|---|\n${all
    .map(({ method, operation, path }) => `| ${cell(operation.summary ?? "")} | \`${method.toUpperCase()} ${path}\` |`)
    .join("\n")}\n`
const titled = (name: string): string => `${name[0]!.toUpperCase()}${name.slice(1)}`

/** The first page lists the others. */
export const apiPages = (documents: ReadonlyArray<ApiDocument>): ReadonlyArray<ApiPage> => {
  const all = documents.flatMap((document) =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): Placed => ({ document, method, operation, path }))
    )
  )
  const slugs = new GithubSlugger()
  const sentences = new Map(documents.flatMap(({ tags }) => tags.map(({ description, name }) => [name, description])))
  const groups = [...sentences].filter(([name]) => !name.startsWith(TWINS))
  const of = (name: string) => all.filter(({ operation }) => operation.tags.includes(name))
  const pages = groups.map(([name, sentence]): ApiPage => {
    const own = of(name)
    const text = `# ${titled(name)}\n\n${sentence}\n${own.length > 1 ? listed(own) : ""}${own.map(operationText).join("")}`
    return { id: `api/${slugs.slug(name)}`, label: titled(name), text }
  })
  const twins = all.filter(({ operation }) => operation.tags.some((name) => name.startsWith(TWINS)))
  const twinText = `# Operations of the console\n\nEach does what the operation of the tenant API does, for the organization in its path and without a key.\n${listed(twins)}`
  const index = `# The API\n\nEach group of operations has a page, written from the program's own list of operations. Requests can be tried in the [reference](/docs).\n
| Group | Operations | What |\n|---|---|---|\n${groups
    .map(
      ([name, sentence], at) =>
        `| [${titled(name)}](/docs/guide/${pages[at]!.id}) | ${of(name).length} | ${cell(sentence)} |`
    )
    .join("\n")}\n`
  return [
    { id: "api", label: "All groups", text: index },
    ...pages,
    ...(twins.length === 0
      ? []
      : [{ id: "api/console-operations", label: "Operations of the console", text: twinText }])
  ]
}
