/**
 * The API reference as one page without an external address: operations by group, their parameters, bodies and answers.
 * Rendered once from the OpenAPI document, so it cannot say something else.
 */
import { createHash } from "node:crypto"

type Json = Record<string, unknown>
interface DocumentedOperation { readonly method: string; readonly path: string; readonly summary: string; readonly id: string; readonly scope: string; readonly entry: Json }

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" })[character] ?? character)

/** A schema in one line of TypeScript-like text; references become links. */
const typeText = (schema: unknown, depth = 0): string => {
  if (typeof schema !== "object" || schema === null) return "unknown"
  const it = schema as Json
  if (typeof it.$ref === "string") {
    const name = it.$ref.split("/").pop() ?? ""
    return `<a href="#schema-${escape(name)}">${escape(name)}</a>`
  }
  if (Array.isArray(it.enum)) return it.enum.map((value) => escape(JSON.stringify(value))).join(" | ")
  const union = it.anyOf ?? it.oneOf
  if (Array.isArray(union)) return union.map((each) => typeText(each, depth)).join(" | ")
  if (Array.isArray(it.allOf) && it.allOf.length > 0 && it.type === undefined) return it.allOf.map((each) => typeText(each, depth)).join(" & ")
  if (it.type === "array") return `${typeText(it.items, depth)}[]`
  if (it.type === "object" && typeof it.properties === "object" && it.properties !== null) {
    if (depth > 2) return "object"
    const required = new Set(Array.isArray(it.required) ? it.required as Array<string> : [])
    return `{ ${Object.entries(it.properties as Json).map(([name, value]) => `${escape(name)}${required.has(name) ? "" : "?"}: ${typeText(value, depth + 1)}`).join("; ")} }`
  }
  return typeof it.type === "string" ? it.type : "any"
}

const bodyText = (content: unknown): string => {
  const types = Object.entries((content ?? {}) as Record<string, Json>)
  return types.map(([type, value]) => `<code>${escape(type)}</code> ${typeText(value.schema)}`).join(" or ")
}

const operationHtml = ({ entry, id, method, path, scope, summary }: DocumentedOperation): string => {
  const parameters = (Array.isArray(entry.parameters) ? entry.parameters as Array<Json> : [])
    .map((each) => `<li><code>${escape(String(each.name))}</code> <small>${escape(String(each.in))}${each.required === true ? ", required" : ""}</small> ${typeText(each.schema)}</li>`).join("")
  const request = (entry.requestBody as Json | undefined)?.content
  const responses = Object.entries((entry.responses ?? {}) as Record<string, Json>).map(([status, value]) => `<li><code>${escape(status)}</code> ${bodyText(value.content)}</li>`).join("")
  return `<details id="${escape(id)}"><summary><b class="m ${method}">${method.toUpperCase()}</b> <code>${escape(path)}</code> <span>${escape(summary)}</span> <small>${escape(scope)}</small></summary>
${parameters === "" ? "" : `<h4>Parameters</h4><ul>${parameters}</ul>`}${request === undefined ? "" : `<h4>Body</h4><p>${bodyText(request)}</p>`}<h4>Answers</h4><ul>${responses}</ul></details>`
}

const style = `
:root{color-scheme:light dark;--edge:color-mix(in srgb,currentColor 18%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{margin-bottom:.2rem}details{border:1px solid var(--edge);border-radius:.4rem;margin:.3rem 0;padding:.4rem .7rem}
summary{cursor:pointer}summary small{float:right;opacity:.75}.m{display:inline-block;min-width:4.2em}
.get{color:#0a7d38}.post{color:#8a5300}.put,.patch{color:#5b3fb5}.delete{color:#b3261e}
@media (prefers-color-scheme:dark){.get{color:#6fd695}.post{color:#f0b35e}.put,.patch{color:#b9a6ff}.delete{color:#ff9a92}}
code{font-size:.92em}ul{padding-left:1.2rem}h4{margin:.6rem 0 .1rem}li,p{overflow-wrap:anywhere}
`
/** The page is one text with one style and no script: nothing else is loaded by it, whatever a summary says. */
const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export const referencePage = (document: Json): { readonly html: string; readonly policy: string } => {
  const groups = new Map<string, Array<DocumentedOperation>>()
  for (const [path, methods] of Object.entries((document.paths ?? {}) as Record<string, Record<string, Json>>)) {
    for (const [method, entry] of Object.entries(methods)) {
      const group = String((entry.tags as Array<string> | undefined)?.[0] ?? "other")
      const operations = groups.get(group) ?? []
      operations.push({ method, path, summary: String(entry.summary ?? ""), id: String(entry.operationId ?? `${method}${path}`), scope: String(entry["x-scope"] ?? ""), entry })
      groups.set(group, operations)
    }
  }
  const schemas = Object.entries(((document.components as Json | undefined)?.schemas ?? {}) as Json)
  const info = document.info as Json
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(String(info.title))}</title>
<style>${style}</style>
<h1>${escape(String(info.title))}</h1><p>${escape(String(info.description))} Version ${escape(String(info.version))}. The same as a document for tools: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
<main>${[...groups].map(([name, operations]) => `<section><h2>${escape(name)}</h2>${operations.map(operationHtml).join("")}</section>`).join("")}
<section><h2>Schemas</h2>${schemas.map(([name, schema]) => `<p id="schema-${escape(name)}"><b>${escape(name)}</b> ${typeText(schema)}</p>`).join("")}</section></main></html>`
  return { html, policy }
}
