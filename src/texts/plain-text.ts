/** The text of a description that shops write as HTML: what a visitor would read, one line per block. Pure. */
const HIDDEN = /<(script|style|template|noscript)\b[^<>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g
const BLOCK = /<\/?(?:p|div|br|li|ul|ol|tr|table|h[1-6]|section|article|blockquote)\b[^<>]*>/gi
const TAG = /<\/?[a-z][^<>]*>/gi
/** Characters without visible width, which can hide words from readers and searches. */
const UNSEEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g
const NAMED: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
  ["ndash", "–"],
  ["mdash", "—"],
  ["hellip", "…"],
  ["laquo", "«"],
  ["raquo", "»"],
  ["deg", "°"],
  ["times", "×"],
  ["euro", "€"],
  ["copy", "©"],
  ["reg", "®"],
  ["trade", "™"]
])
const decoded = (entity: string, name: string): string => {
  if (!name.startsWith("#")) return NAMED.get(name.toLowerCase()) ?? entity
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10)
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : ""
}
export const plainText = (html: string): string =>
  html
    .replaceAll(COMMENT, "")
    .replaceAll(HIDDEN, "")
    .replaceAll(BLOCK, "\n")
    .replaceAll(TAG, "")
    .replaceAll(/&(#x?[0-9a-f]{1,6}|[a-z]{2,8});/gi, decoded)
    .replaceAll(UNSEEN, "")
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ *\n\s*/g, "\n")
    .trim()
