/** Texts that programs stumble over: names that every object inherits, and characters that are not what they look like. */

const prototypes = [Object, Function, Array, String, Number, Boolean, Symbol, BigInt, Date, RegExp, Map, Set, WeakMap, Promise, Error, ArrayBuffer, Uint8Array].map((maker) => maker.prototype as object)
/** Every name that objects of the language have without having been given it, and the ones that statics add. */
export const inheritedNames: ReadonlyArray<string> = [...new Set([
  ...prototypes.flatMap((prototype) => Object.getOwnPropertyNames(prototype)), ...Object.getOwnPropertyNames(Object), ...Object.getOwnPropertyNames(Function),
  "__proto__", "__defineGetter__", "then", "toJSON", "undefined", "null", "NaN"
])].sort()
/** Those of them that a plain object answers. */
export const objectNames: ReadonlyArray<string> = Object.getOwnPropertyNames(Object.prototype)

const long = (character: string, count: number): string => character.repeat(count)
/** Half surrogates cannot travel as UTF-8: only within one program. */
export const brokenTexts: ReadonlyArray<string> = ["\ud800", "\udc00", "a\ud83d b", "\udfff\ud800", long("\ud83d", 300)]
export const awkwardTexts: ReadonlyArray<string> = [
  "", " ", "\t\n\r", "\u0000", "a\u0000b", long("\u0000", 200), [...Array(32).keys()].map((code) => String.fromCharCode(code)).join(""), "\u007f\u0080\u009f", "\ufeff", "\ufffe\uffff", "\ufdd0",
  "\u202e desrever \u202c", "\u2066\u2067\u2068\u2069", "\u200b\u200c\u200d\u2060", "zero\u200bwidth", "\u061c\u200e\u200f", "soft\u00adhyphen", "\u180e",
  "שלום עולם", "مرحبا بالعالم", "مُحَمَّد", "नमस्ते दुनिया", "สวัสดีชาวโลก", "안녕하세요 세계", "こんにちは世界", "你好世界", "ﬀ ﬁ ﬂ ﬃ ﷺ", "Straße ẞ", "İstanbul ıI", "ΣΊΣΥΦΟΣ ς", "Ǆ ǆ ǅ",
  "👩‍👩‍👧‍👦", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪🇫🇷", long("👩‍🚀", 500), "e\u0301", `e${long("\u0301", 300)}`, `ж${long("\u0301", 300)}`, `${long("\u0300", 500)}`, "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́O",
  "0", "-0", "1e309", "0x10", "1/2", "½ ⅓ Ⅷ", "١٢٣", "99999999999999999999999999", "1,000.50", "00000", "NaN Infinity -Infinity", "true false null undefined",
  "' OR 1=1 --", "<script>alert(1)</script>", "../../etc/passwd", "${7*7}", "{{7*7}}", "%00%ff", "\\", "\\\\\"", "`", "``", "\"", "\"\"", "-", "--", "-\"a\"", "*", "**", "a*", ":=", "&&", "||", "(", ")", "[", "]", "{", "}", "$x(y:1)", "$operations",
  long("a", 65_536), long("ж", 20_000), long("\u0301", 20_000), long("界", 5_000), long("-", 65_536), long("a b ", 5_000), long("1", 30_000), long("ab", 20_000), long("e\u0301", 10_000), long("i\u0307", 10_000), long("s", 3_000) + "es"
]
