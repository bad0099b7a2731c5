/** The valid values of each field of a key request, as its schema, so that all mistakes are reported together. */
import { Schema } from "effect"
import { parseCidr } from "../../net/network-address.ts"
import { refusing } from "../../http/checks.ts"
import { browserKeyPrefix } from "../tokens/browser-key.ts"
import { RATE_LIMIT_MAX } from "../../identity/key-record.ts"
import { isOriginPattern } from "../check/origins.ts"

/** Limit of entries in each list; every request with the key is compared with them. */
const LIST_MAX = 250
const FILTER_LENGTH_MAX = 4_000
const DESCRIPTION_LENGTH_MAX = 1_000
const madeHere = [browserKeyPrefix, "ss_scoped_", "cmsk_"]

const between = (min: number, max: number) =>
  refusing((value: number) => (value >= min && value <= max ? undefined : `${min} to ${max}`))
/** A list with limits on its length and on its entries. */
const listOf = (entry: (text: string) => string | undefined, length: (entries: number) => string | undefined) =>
  Schema.Array(Schema.String.check(refusing(entry))).check(
    refusing((entries: ReadonlyArray<string>) => length(entries.length))
  )
const atMost =
  (what: string) =>
  (entries: number): string | undefined =>
    entries > LIST_MAX ? `At most ${LIST_MAX} ${what}` : undefined

/** Names, `*`, and `.*` inside a name: the patterns that `collectionMatches` can decide in linear time. */
const isPattern = (text: string): boolean =>
  text === "*" || (text.length <= 256 && /^(?:[^\\^$+?()[\]{}|*]|\.\*)+$/.test(text))
const shown = (text: string): string => `\`${text.slice(0, 80)}\``

export const Description = Schema.String.check(
  refusing((text: string) =>
    text.length > DESCRIPTION_LENGTH_MAX ? `At most ${DESCRIPTION_LENGTH_MAX} characters` : undefined
  )
)
export const Patterns = listOf(
  (text) => (isPattern(text) ? undefined : `${shown(text)} is not a name, \`*\`, or a pattern with \`.*\``),
  (entries) =>
    entries === 0 || entries > LIST_MAX ? `Name at least one collection, or \`*\`, and at most ${LIST_MAX}` : undefined
)
export const Addresses = listOf(
  (text) => (parseCidr(text) === undefined ? `${shown(text)} is not an address or a CIDR range` : undefined),
  atMost("ranges")
)
export const Origins = listOf(
  (text) =>
    isOriginPattern(text)
      ? undefined
      : `${shown(text)} is not an origin like \`https://shop.example\` or \`https://*.shop.example\``,
  atMost("origins")
)
export const FieldNames = listOf(
  (name) =>
    name.length <= 256 && /^[^*$(),\s`]+$/.test(name)
      ? undefined
      : `${shown(name)} is no name of a field; patterns are none`,
  (entries) => (entries === 0 || entries > LIST_MAX ? `1 to ${LIST_MAX} names of fields` : undefined)
)
export const Filters = Schema.Record(
  Schema.String,
  Schema.String.check(
    refusing((filter: string) =>
      filter.trim() === "" || filter.length > FILTER_LENGTH_MAX
        ? `A filter of 1 to ${FILTER_LENGTH_MAX} characters; an empty one would restrict nothing`
        : undefined
    )
  )
).check(
  refusing((filters: Readonly<Record<string, string>>) => {
    const names = Object.keys(filters),
      wrong = names.find((name) => !isPattern(name))
    return names.length > LIST_MAX
      ? `At most ${LIST_MAX} collections`
      : wrong === undefined
        ? undefined
        : `${shown(wrong)} is not a collection, \`*\`, or a pattern with \`.*\``
  })
)
export const ChosenValue = Schema.String.check(
  refusing((value: string) =>
    value.length < 16 || value.length > 512
      ? "A chosen key has 16 to 512 characters"
      : !/^[\x21-\x7e]+$/.test(value) || madeHere.some((prefix) => value.startsWith(prefix))
        ? `Printable ASCII without spaces, and not beginning as keys do that are only made here (${madeHere.map((prefix) => `\`${prefix}\``).join(", ")})`
        : undefined
  )
)
export const RateLimit = Schema.Int.check(
  refusing((value: number) => (value < 0 || value > RATE_LIMIT_MAX ? `0 (no limit) to ${RATE_LIMIT_MAX}` : undefined))
)
export const Ttl = ({ max, min }: { readonly min: number; readonly max: number }) => Schema.Int.check(between(min, max))
