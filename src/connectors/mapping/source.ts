/**
 * A mapping is data: for each field of a document, where its value comes from. It can be stored, shown next to its
 * result, and tried on an event (`test-mapping`).
 */
import { Schema } from "effect"
import { refusing } from "../../http/checks.ts"
import { pathOf } from "./path.ts"

const FIELDS_MAX = 200
const PARTS_MAX = 20
/** Limit of a field's nesting depth. */
const DEPTH_MAX = 6
const TEXT_MAX = 1_024
/** Limit of a mapping's JSON, which every process keeps in memory: nested lists could otherwise take megabytes. */
const MAPPING_BYTES_MAX = 64_000

export type Source =
  | string
  | { readonly constant: string | number | boolean }
  | { readonly first_of: ReadonlyArray<Source> }
  | { readonly join: ReadonlyArray<Source>; readonly with?: string }
  | { readonly number: Source }
  | { readonly text: Source }
  | { readonly flag: Source; readonly true_when?: ReadonlyArray<string> }
  /** Whether the number is above zero. */
  | { readonly positive: Source }
  | { readonly list: Source; readonly split?: string }
  | { readonly pairs: string; readonly name: string; readonly value: string }

const PathText = Schema.String.check(
  refusing((text: string) => {
    const path = pathOf(text)
    return typeof path === "string" ? path : undefined
  })
)
const ShortText = Schema.String.check(Schema.isMaxLength(TEXT_MAX))
const Nested = Schema.suspend((): Schema.Codec<Source> => SourceOf)
const SourceOf: Schema.Codec<Source> = Schema.Union([
  PathText,
  Schema.Struct({ constant: Schema.Union([ShortText, Schema.Finite, Schema.Boolean]) }),
  Schema.Struct({ first_of: Schema.Array(Nested).check(Schema.isMinLength(1), Schema.isMaxLength(PARTS_MAX)) }),
  Schema.Struct({
    join: Schema.Array(Nested).check(Schema.isMinLength(1), Schema.isMaxLength(PARTS_MAX)),
    with: Schema.optionalKey(ShortText)
  }),
  Schema.Struct({ number: Nested }),
  Schema.Struct({ text: Nested }),
  Schema.Struct({
    flag: Nested,
    true_when: Schema.optionalKey(Schema.Array(ShortText).check(Schema.isMinLength(1), Schema.isMaxLength(PARTS_MAX)))
  }),
  Schema.Struct({ positive: Nested }),
  Schema.Struct({ list: Nested, split: Schema.optionalKey(ShortText) }),
  Schema.Struct({ pairs: PathText, name: PathText, value: PathText })
])

const depthOf = (source: Source): number => {
  if (typeof source === "string") return 1
  if ("first_of" in source) return 1 + Math.max(...source.first_of.map(depthOf))
  if ("join" in source) return 1 + Math.max(...source.join.map(depthOf))
  if ("number" in source) return 1 + depthOf(source.number)
  if ("text" in source) return 1 + depthOf(source.text)
  if ("flag" in source) return 1 + depthOf(source.flag)
  if ("positive" in source) return 1 + depthOf(source.positive)
  return "list" in source ? 1 + depthOf(source.list) : 1
}
export type Mapping = Readonly<Record<string, Source>>
/** `target: source`; the document's id is the event's, and cannot be a target. */
export const MappingFields = Schema.Record(Schema.String, SourceOf)
  .check(
    refusing((mapping: Mapping) => {
      const names = Object.keys(mapping)
      if (names.length === 0 || names.length > FIELDS_MAX) return `1 to ${FIELDS_MAX} fields`
      if (names.some((name) => name === "" || name.length > 256)) return "A field's name has 1 to 256 characters"
      if (Object.hasOwn(mapping, "id")) return "The id of a document is the event's own; it is not mapped"
      if (Buffer.byteLength(JSON.stringify(mapping)) > MAPPING_BYTES_MAX)
        return `At most ${MAPPING_BYTES_MAX} bytes of mapping`
      const deep = names.find((name) => depthOf(mapping[name]!) > DEPTH_MAX)
      return deep === undefined ? undefined : `\`${deep}\` nests deeper than ${DEPTH_MAX} levels`
    })
  )
  .annotate({ identifier: "Mapping" })
