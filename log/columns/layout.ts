/**
 * The events of a record by column: what many events share is written once, and a reader takes only the fields it
 * needs, without creating an object or texts for the others. An event of a shop takes some 75 bytes, where named fields
 * took 130.
 *
 *     [MARK][FORMAT][count u32][schema version u32][occurred at f64][organization, as a text]
 *     [columns u8] { [field u8][shape u8][length u32][the column] } [length u32][rest]
 *
 * All numbers are little-endian; a text is its length (u32) and its UTF-8 bytes. A column is
 *
 *     texts     [isAscii u8][texts u32][bytes of a length u8: 1 or 4][lengths][the texts, end to end][numbers]
 *     numbers   [base f64][numbers]                 value = base + number, integers
 *     doubles   [values u32][values f64][numbers]   number = index into the values
 *     types     [numbers]                           number = index into TYPES
 *
 * and its numbers are one per event: 0 for an event without the field, otherwise the number plus one. By shape, they
 * have one, two or four bytes each, or are the same for all events, or are each event's own index. What no column
 * accepts (lists, objects, unknown fields, a value of another type than its field has) is in the rest: msgpackr of
 * `[index, fields or null][]`, null for an event that was erased.
 */

/** The byte that msgpack never uses: no other record begins with it. */
export const MARK = 0xc1
export const FORMAT = 1

/** Indexes are permanent, since stored records contain them. */
export const TYPES = ["search", "view", "click", "add_to_cart", "purchase", "conversion", "custom"] as const
export const TYPE_FIELD = "type"
export const TEXT_FIELDS = [
  "collection",
  "event_id",
  "query_id",
  "user_id",
  "anonymous_id",
  "session_id",
  "document_id",
  "q",
  "filter_by",
  "currency",
  "surface",
  "device",
  "country",
  "name"
] as const
export const NUMBER_FIELDS = ["timestamp", "position", "results_found", "quantity", "price", "revenue"] as const
export type TextField = (typeof TEXT_FIELDS)[number]
export type NumberField = (typeof NUMBER_FIELDS)[number]

export const TYPES_AT = 0
export const TEXTS_AT = 1
export const NUMBERS_AT = 64
/** Flag combined with a numeric field: its column holds doubles. */
export const DOUBLES = 128

/** How the numbers of a column are stored. */
export const SAME = 0,
  BYTES = 1,
  SHORTS = 2,
  LONGS = 4,
  OWN_PLACE = 5
/**
 * Maximum number of events of a record, far more than any writer produces. A limit in bytes would not bound them,
 * because an event may take no bytes.
 */
export const EVENTS_MAX = 1_048_576
/** The largest number of a column; it is stored plus one. */
export const NUMBER_MAX = 0xffff_fffe
