/** The progress of a pull: what it has read, and where it continues after an interruption. Pure. */
import { Schema } from "effect"
import { storableText } from "../../texts/storable-text.ts"
import type { PushRead } from "../read-push.ts"
import type { Page } from "./page.ts"

const PULL_ERRORS_MAX = 100,
  REASON_CHARACTERS_MAX = 300
const Count = Schema.Int
const Place = Schema.Struct({
  /** Pages stored as pushes. */ pages: Count,
  /** Pages that had not changed. */ unchanged: Count,
  received: Count,
  upserts: Count,
  deletes: Count,
  rejected: Count,
  /** Products that could not be read and have no readable id. */ nameless: Count,
  errors: Schema.Array(Schema.Struct({ page: Count, index: Count, reason: Schema.String })),
  /** The next page; absent after the last. */ next: Schema.optional(Schema.String),
  /** Whether unchanged pages may be skipped. */ is_conditional: Schema.Boolean
})
export type Place = typeof Place.Type
export const decodePlace = Schema.decodeUnknownSync(Place)

export const beginning = (next: string, is_conditional: boolean): Place => ({
  pages: 0,
  unchanged: 0,
  received: 0,
  upserts: 0,
  deletes: 0,
  rejected: 0,
  nameless: 0,
  errors: [],
  next,
  is_conditional
})
/** The progress after a part of a page. */
export const counted = (place: Place, page: number, base: number, { changes, received, rejected }: PushRead): Place => {
  const deletes = changes.filter(({ op }) => op === "delete").length
  const refused = rejected.map(({ index, reason }) => ({
    page,
    index: base + index,
    reason: storableText(reason, REASON_CHARACTERS_MAX)
  }))
  return {
    ...place,
    received: place.received + received,
    upserts: place.upserts + changes.length - deletes,
    deletes: place.deletes + deletes,
    rejected: place.rejected + rejected.length,
    nameless: place.nameless + rejected.filter(({ externalId }) => externalId === undefined).length,
    errors: [...place.errors, ...refused].slice(0, PULL_ERRORS_MAX)
  }
}
export const withUnread = (place: Place, page: number, unread: Page["unread"]): Place => ({
  ...place,
  received: place.received + unread.length,
  rejected: place.rejected + unread.length,
  nameless: place.nameless + unread.length,
  errors: [
    ...place.errors,
    ...unread.map(({ line, reason }) => ({ page, index: line, reason: storableText(reason, REASON_CHARACTERS_MAX) }))
  ].slice(0, PULL_ERRORS_MAX)
})
export const progressOf = (place: Place, expected: number): number =>
  Math.min(0.9, expected > 0 ? place.received / expected : 1 - 1 / (1 + place.pages))
