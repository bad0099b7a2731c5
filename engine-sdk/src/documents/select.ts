/**
 * Which parts of a document are shown (`docs/contract/documents.md#selected-fields`). Exclusion takes precedence; a
 * parent includes its subtree; objects that become empty are removed, except inside arrays, where positions are kept.
 */
import type { Document } from "../schema.ts"
import { isObject } from "./json.ts"
import { putOwn } from "./own-value.ts"

type Verdict = "all" | "some" | "none"
interface Rules {
  readonly exact: ReadonlySet<string>
  readonly prefixes: ReadonlyArray<string>
  readonly parents: ReadonlySet<string>
}
const compiled = new WeakMap<ReadonlyArray<string>, Rules>()
const rulesOf = (names: ReadonlyArray<string>): Rules => {
  const known = compiled.get(names)
  if (known !== undefined) return known
  const exact = new Set<string>()
  const prefixes: string[] = []
  const parents = new Set<string>()
  for (const name of names) {
    if (name.endsWith("*")) prefixes.push(name.slice(0, -1))
    else exact.add(name)
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) parents.add(name.slice(0, dot))
  }
  const rules = { exact, prefixes, parents }
  compiled.set(names, rules)
  return rules
}
const includeVerdict = (rules: Rules, path: string): Verdict => {
  if (rules.exact.has(path)) return "all"
  for (const prefix of rules.prefixes) if (path.startsWith(prefix)) return "all"
  if (rules.parents.has(path)) return "some"
  for (const prefix of rules.prefixes) if (prefix.startsWith(`${path}.`)) return "some"
  return "none"
}
const isExcluded = (rules: Rules, path: string): boolean => {
  if (rules.exact.has(path)) return true
  for (const prefix of rules.prefixes) if (path.startsWith(prefix)) return true
  return false
}
const hasInside = (rules: Rules, path: string): boolean =>
  rules.parents.has(path) || rules.prefixes.some((prefix) => prefix.startsWith(`${path}.`))

/** Whether a field path is shown at all; used by implicit highlighting. */
export const isSelected = (
  selection: { readonly include: ReadonlyArray<string>; readonly exclude: ReadonlyArray<string> },
  path: string
): boolean => {
  const exclude = rulesOf(selection.exclude)
  const include = rulesOf(selection.include)
  let shown = selection.include.length === 0
  for (
    let dot = path.indexOf("."), end = dot < 0 ? path.length : dot;
    ;
    dot = path.indexOf(".", end + 1), end = dot < 0 ? path.length : dot
  ) {
    const part = path.slice(0, end)
    if (isExcluded(exclude, part)) return false
    if (!shown && includeVerdict(include, part) === "all") shown = true
    if (end >= path.length) return shown
  }
}

/** The selected part; the document itself if nothing is removed. Joins are added by the engine. O(document). */
export const select = (
  document: Document,
  selection: { readonly include: ReadonlyArray<string>; readonly exclude: ReadonlyArray<string> }
): Document => {
  if (selection.include.length === 0 && selection.exclude.length === 0) return document
  return prune(document, "", selection.include.length === 0, rulesOf(selection.include), rulesOf(selection.exclude))
}
const prune = (
  value: Document,
  prefix: string,
  included: boolean,
  include: Rules,
  exclude: Rules
): { [key: string]: unknown } => {
  const out: { [key: string]: unknown } = {}
  for (const key of Object.keys(value)) {
    const path = prefix === "" ? key : `${prefix}.${key}`
    if (isExcluded(exclude, path)) {
      // As in the reference engine, elements of an array of objects that is excluded by name remain, as empty objects.
      const elements =
        exclude.exact.has(path) && Array.isArray(value[key]) && (included || includeVerdict(include, path) === "all")
          ? (value[key] as unknown[]).filter(isObject)
          : []
      if (elements.length > 0)
        putOwn(
          out,
          key,
          elements.map(() => ({}))
        )
      continue
    }
    const verdict = included ? "all" : includeVerdict(include, path)
    if (verdict === "none") continue
    const child = value[key]
    if (verdict === "all" && !hasInside(exclude, path)) {
      putOwn(out, key, child)
      continue
    }
    const kept = pruneValue(child, path, verdict === "all", include, exclude)
    if (kept !== undefined) putOwn(out, key, kept)
  }
  return out
}
const isEmptyObject = (value: { [key: string]: unknown }): boolean => {
  for (const _ in value) return false
  return true
}
const pruneValue = (value: unknown, path: string, included: boolean, include: Rules, exclude: Rules): unknown => {
  if (Array.isArray(value)) {
    if (!value.some(isObject)) return included ? value : undefined
    return value.flatMap((item) =>
      isObject(item) ? [prune(item, path, included, include, exclude)] : included ? [item] : []
    )
  }
  if (!isObject(value)) return included ? value : undefined
  const kept = prune(value, path, included, include, exclude)
  return isEmptyObject(kept) && !isEmptyObject(value) ? undefined : kept
}
