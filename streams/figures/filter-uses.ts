/**
 * By which fields and values a search was narrowed, and which facets it requested, parsed from its texts. The schema of
 * that moment is unknown here, so a text is parsed for the names in it and not for its meaning; a text that is not a
 * filter names nothing. Pure.
 */
import { cutBytes, storable } from "@dowser/log/normalize-query"

/** `value` is empty for a facet. An operator other than equality is part of the value: `>=10`, `!=red`. */
export type FilterUse = readonly [type: "filter" | "facet", field: string, value: string]

/** Maximum number of uses per search; more are not counted. */
export const USES_MAX = 16
const BYTES_MAX = 128
const cut = (text: string): string => cutBytes(storable(text.trim()), BYTES_MAX)

const OPENING = "([",
  CLOSING = ")]"

/** The texts between `&&` and `||`, without the brackets of groups, each as `field:value`; backticks quote. O(text). */
const clausesOf = (text: string): ReadonlyArray<string> => {
  const clauses: Array<string> = []
  let clause = "",
    isQuoted = false,
    depth = 0,
    hasColon = false
  const end = () => {
    if (clause.trim() !== "") clauses.push(clause.trim())
    clause = ""
    depth = 0
    hasColon = false
  }
  for (let i = 0; i < text.length && clauses.length < USES_MAX; i++) {
    const character = text[i]!
    if (character === "`") isQuoted = !isQuoted
    else if (!isQuoted) {
      if ((character === "&" || character === "|") && text[i + 1] === character && depth === 0) {
        end()
        i++
        continue
      }
      // A bracket before the colon opens a group (or a join, `$other(`), whose contents are clauses like the others.
      if (!hasColon && (OPENING + CLOSING).includes(character)) {
        clause = ""
        continue
      }
      if (character === ":") hasColon = true
      else if (OPENING.includes(character)) depth++
      else if (CLOSING.includes(character)) {
        if (depth === 0) {
          end()
          continue
        }
        depth--
      }
    }
    clause += character
  }
  end()
  return clauses
}

/** Parts of a list between commas; backticks quote. */
const partsOf = (list: string): ReadonlyArray<string> =>
  (list.match(/(?:`[^`]*`|[^,`])+/g) ?? []).map((part) => part.trim())
const unquoted = (value: string): string => value.replaceAll("`", "")

// Two functions, because most searches use no filter or facet, and a function with closures allocates their scope
// before its first line.
export const usesOf = (
  filter_by: string | undefined,
  facet_by: string | undefined
): ReadonlyArray<FilterUse> | undefined =>
  filter_by === undefined && facet_by === undefined ? undefined : namedUses(filter_by, facet_by)

const namedUses = (
  filter_by: string | undefined,
  facet_by: string | undefined
): ReadonlyArray<FilterUse> | undefined => {
  const uses = new Map<string, FilterUse>()
  const use = (type: FilterUse[0], field: string, value: string) => {
    if (uses.size < USES_MAX && field !== "") uses.set(`${type}\n${field}\n${value}`, [type, cut(field), cut(value)])
  }
  for (const clause of filter_by === undefined ? [] : clausesOf(filter_by)) {
    const match = /^!?([^\s:`]+)\s*:\s*(!=|>=|<=|=|>|<|!)?\s*([\s\S]*)$/.exec(clause)
    if (match === null) continue
    const [, field, operator = "", value] = match
    const sign = operator === "=" ? "" : operator
    const list = /^\[([\s\S]*)\]$/.exec(value!)
    for (const part of list === null ? [value!] : partsOf(list[1]!)) use("filter", field!, sign + unquoted(part))
  }
  // A facet's ranges and options are in brackets after its name.
  for (const facet of facet_by === undefined ? [] : facet_by.replace(/\([^)]*\)/g, "").split(","))
    use("facet", facet.trim(), "")
  return uses.size === 0 ? undefined : [...uses.values()]
}
