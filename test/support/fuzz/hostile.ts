/**
 * Hostile inputs by seed: examples from a schema, then broken; texts, bodies, encodings and paths that break things.
 */
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import * as zlib from "node:zlib"
import type { Random } from "../../../fixtures/random.ts"
import type { Described, JsonSchema } from "./described.ts"
import { rooms } from "../../../src/rooms.ts"

const seeds = rooms.table("seeds")
/** The seeds of an operation; a console twin uses those of its original. */
const seedsFor = (id: string) =>
  seeds.get(id) ?? seeds.get(id.replace(/^console([A-Z])/, (_, letter: string) => letter.toLowerCase()))

/**
 * Texts that have broken programs: markup of our own languages, encodings, look-alikes, directions, prototypes, paths.
 */
export const texts: ReadonlyArray<string> = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udc00x",
  "\u202Egoods",
  "go\u200Bods",
  "e\u0301",
  "\u00e9",
  "\uFEFFgoods",
  "g\u043e\u043eds",
  "ﬁ",
  "İ",
  "ß",
  "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}",
  "👍".repeat(50),
  "a\u0301".repeat(300),
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "__defineGetter__",
  "constructor.prototype.polluted",
  "__proto__.polluted",
  "../../../etc/passwd",
  "..",
  ".",
  "%2e%2e%2f",
  "C:\\x",
  "goods/../keys",
  "goods?x=1",
  "goods#x",
  "goods;x",
  "a/b",
  "//",
  "file:///etc/passwd",
  "' OR 1=1 --",
  '"; DROP TABLE organizations; --',
  "${7*7}",
  "{{7*7}}",
  "<script>alert(1)</script>",
  "a\r\nset-cookie: x=1",
  "a\nb",
  "\\",
  "\\u0000",
  "%",
  "%%",
  "*",
  "**",
  "*:*",
  "`",
  "``",
  "```",
  "&&",
  "||",
  "(",
  ")",
  "[",
  "]",
  "id:",
  ":=",
  "$",
  "$makers(",
  "$makers(code:=",
  "$goods($goods(id:*))",
  "-1",
  "0",
  "-0",
  "1e999",
  "-1e999",
  "NaN",
  "Infinity",
  "9007199254740993",
  "99999999999999999999999999",
  "0x10",
  "1_000",
  "1e-400",
  "true",
  "false",
  "null",
  "undefined",
  "[]",
  "{}",
  "[object Object]",
  "1970-01-01",
  "0000-00-00",
  "2026-02-30",
  "275760-09-13T00:00:00.001Z",
  "9999999999999-01-01",
  "2026-01-01T00:00:00Z",
  "(a+)+$",
  "(?:a|a)*b",
  "/(a+)+$/",
  `${"a".repeat(40)}!`,
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "http://127.0.0.1:9/",
  "http://[::ffff:127.0.0.1]/",
  "http://169.254.169.254/latest/",
  "javascript:alert(1)",
  "data:text/html,x",
  "gopher://x",
  "http://user:pass@x/",
  "http://x:99999/",
  "goods",
  "products",
  "id",
  "title",
  "*,$makers(*)"
]
const numbers: ReadonlyArray<number> = [
  0,
  -0,
  1,
  -1,
  0.1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53),
  2 ** 63,
  1e21,
  1e308,
  -1e308,
  5e-324,
  250,
  251,
  1000,
  1001,
  65_536
]

/** Filters, sorts and the like that cost more than they appear to. `size` clauses. */
export const bombs: ReadonlyArray<(size: number) => string> = [
  (size) => Array.from({ length: size }, (_, i) => `stock:>${i}`).join(" && "),
  (size) => Array.from({ length: size }, (_, i) => `title:=a${i}`).join(" || "),
  (size) => `${"(".repeat(size)}stock:>1${")".repeat(size)}`,
  (size) => "(".repeat(size),
  (size) => `id:[${Array.from({ length: size }, (_, i) => `d${i}`).join(",")}]`,
  (size) => `place:(${Array.from({ length: size }, (_, i) => `${(i % 90) + 0.5},${(i * 7) % 180}`).join(",")})`,
  (size) => `title:${"*".repeat(size)}`,
  (size) => `${"!".repeat(size)}title:a`,
  (size) => `title:\`${"a".repeat(size)}`,
  (size) => `stock:[${Array.from({ length: size }, (_, i) => `${i}..${i + 1}`).join(",")}]`,
  (size) => "$makers(".repeat(size) + "code:a" + ")".repeat(size),
  (size) => `_eval([${Array.from({ length: size }, (_, i) => `(stock:>${i}):${i}`).join(",")}]):desc`,
  (size) => `_eval(${"(".repeat(size)}stock:>1${")".repeat(size)}):desc`,
  (size) => Array.from({ length: size }, () => "stock:desc").join(","),
  (size) => Array.from({ length: size }, () => "title").join(","),
  (size) => Array.from({ length: size }, (_, i) => `f${i}`).join(","),
  (size) => Array.from({ length: size }, (_, i) => `word${i}`).join(" "),
  (size) => "a".repeat(size),
  (size) => "a ".repeat(size),
  (size) => '-"a b" '.repeat(size),
  (size) => '"'.repeat(size),
  (size) => `stock(${Array.from({ length: size }, (_, i) => `r${i}:[${i},${i + 1}]`).join(",")})`,
  (size) => Array.from({ length: size }, (_, i) => `d${i}:${i + 1}`).join(","),
  (size) => `place(${"1,".repeat(size)}1):asc`
]
const anyText = (random: Random, size_max: number): string =>
  random.chance(0.12) ? random.pick(bombs)(1 + random.below(random.chance(0.15) ? size_max : 40)) : random.pick(texts)

export interface Hints {
  readonly [name: string]: ReadonlyArray<unknown>
}

/** A value that the schema allows, within `depth`; hints provide good values for well-known names. */
export const exampleOf = (
  schema: JsonSchema,
  deref: Described["deref"],
  random: Random,
  hints: Hints,
  name = "",
  depth = 6
): unknown => {
  const hinted = Object.hasOwn(hints, name) ? hints[name] : undefined
  if (hinted !== undefined && random.chance(0.7)) return random.pick(hinted)
  const at = deref(schema)
  const alternatives = at.anyOf ?? at.oneOf
  if (Array.isArray(alternatives)) return exampleOf(random.pick(alternatives), deref, random, hints, name, depth - 1)
  if (Array.isArray(at.allOf))
    return Object.assign(
      {},
      ...at.allOf.map((each: JsonSchema) => exampleOf(each, deref, random, hints, name, depth - 1))
    )
  if (Array.isArray(at.enum)) return random.pick(at.enum)
  if ("const" in at) return at.const
  switch (Array.isArray(at.type) ? random.pick(at.type as ReadonlyArray<string>) : at.type) {
    case "string":
      return random.chance(0.7) ? random.pick(["one", "two words", "goods", "title", "d1"]) : anyText(random, 200)
    case "integer":
      return random.pick([1, 2, 10, 60, Math.max(0, Math.min(at.maximum ?? 5, 3600))])
    case "number":
      return random.pick([0.5, 1, 10])
    case "boolean":
      return random.chance(0.5)
    case "null":
      return null
    case "array":
      return depth <= 0
        ? []
        : Array.from({ length: 1 + random.below(3) }, () =>
            exampleOf(at.items ?? {}, deref, random, hints, name, depth - 1)
          )
    case "object": {
      const made: Record<string, unknown> = {}
      const required = new Set(at.required ?? [])
      for (const [key, each] of Object.entries<JsonSchema>(at.properties ?? {}))
        if (required.has(key) || (depth > 0 && random.chance(0.45)))
          made[key] = exampleOf(each, deref, random, hints, key, depth - 1)
      return made
    }
    default:
      return depth <= 0 ? "x" : junk(random, 2)
  }
}
const junk = (random: Random, depth: number): unknown => {
  switch (random.below(depth <= 0 ? 5 : 7)) {
    case 0:
      return anyText(random, 500)
    case 1:
      return random.pick(numbers)
    case 2:
      return null
    case 3:
      return random.chance(0.5)
    case 4:
      return random.pick([[], {}, [[]], [null]])
    case 5:
      return Array.from({ length: random.below(4) }, () => junk(random, depth - 1))
    default:
      return entries(Array.from({ length: random.below(4) }, () => [anyText(random, 20), junk(random, depth - 1)]))
  }
}
/** Own keys, including `__proto__`: an assignment would set the prototype instead. */
const entries = (pairs: ReadonlyArray<readonly [string, unknown]>): Record<string, unknown> => {
  const made: Record<string, unknown> = {}
  for (const [key, value] of pairs)
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true })
  return made
}
const poison: ReadonlyArray<readonly [string, unknown]> = [
  ["__proto__", { polluted: true, scope: "full", isAdmin: true }],
  ["constructor", { prototype: { polluted: true } }],
  ["prototype", { polluted: true }],
  ["toString", "x"],
  ["toJSON", "x"],
  ["length", 1e9],
  ["then", "x"],
  ["hasOwnProperty", 1],
  ["valueOf", {}],
  ["_tag", "Fail"],
  ["$where", "1"]
]
/**
 * Changes one place of the value: another type, a missing, extra or poisoned key, a scalar in a list, a list in a
 * scalar.
 */
export const mutated = (value: unknown, random: Random): unknown => {
  if (typeof value === "object" && value !== null && random.chance(0.75)) {
    if (Array.isArray(value)) {
      if (value.length === 0 || random.chance(0.2)) return [...(value as ReadonlyArray<unknown>), junk(random, 2)]
      if (random.chance(0.08)) return Array.from({ length: 1 + random.below(1500) }, () => value[0] as unknown)
      const at = random.below(value.length)
      return value.map((each: unknown, i) => (i === at ? mutated(each, random) : each))
    }
    const pairs = Object.entries(value)
    const way = random.below(5)
    if (pairs.length === 0 || way === 0)
      return entries([...pairs, random.chance(0.6) ? random.pick(poison) : [anyText(random, 50), junk(random, 2)]])
    const at = random.below(pairs.length)
    if (way === 1) return entries(pairs.filter((_, i) => i !== at))
    return entries(pairs.map(([key, each], i) => [key, i === at ? mutated(each, random) : each]))
  }
  return random.pick([
    () => junk(random, 2),
    () => [value],
    () => ({ value }),
    () => JSON.stringify(value),
    () => anyText(random, 3_000),
    () => random.pick(numbers),
    () => null
  ])()
}

interface HostileBody {
  readonly bytes: Buffer
  readonly headers: ReadonlyArray<readonly [string, string]>
}
const zeros = Buffer.alloc(30_000_000)
const zstd = (zlib as { readonly zstdCompressSync?: (bytes: Buffer) => Buffer }).zstdCompressSync
/** Thirty megabytes of zeros in each encoding; `gzip` twice over. */
export const zipBombs: ReadonlyArray<HostileBody> = [
  ...[
    ["gzip", gzipSync(zeros)],
    ["br", brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } })],
    ["deflate", deflateSync(zeros)],
    ["gzip", gzipSync(gzipSync(zeros))],
    ...(zstd === undefined ? [] : [["zstd", zstd(zeros)] as const])
  ].map(([encoding, bytes]): HostileBody => ({
    bytes: bytes as Buffer,
    headers: [["content-encoding", encoding as string]]
  }))
]

/** A text made of what JSON parsers rarely meet. */
const brokenJson = (text: string, random: Random): Buffer =>
  random.pick<() => Buffer>([
    () => Buffer.from(text.slice(0, random.below(text.length + 1))),
    () => Buffer.from(`\uFEFF${text}`),
    () => Buffer.from(`${text}${text}`),
    () => Buffer.from(text.replace(/\{/, '{"__proto__":{"polluted":true},"__proto__":1,')),
    () =>
      Buffer.from(
        text.replace(
          /:\s*[^,{}[\]]+/,
          random.pick([":NaN", ":Infinity", ":-Infinity", ":1e999", ":0x1", ":01", ":'a'", ":undefined"])
        )
      ),
    () => Buffer.from(text.replace(/"([^"]*)"/, '"\\ud800$1\\u0000"')),
    () =>
      Buffer.concat([
        Buffer.from(text.slice(0, text.length >> 1)),
        Buffer.from([0xff, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf8]),
        Buffer.from(text.slice(text.length >> 1))
      ]),
    () =>
      Buffer.from(
        random.pick(["[", '{"a":', '[[[[{"a":']).repeat(1 + random.below(random.chance(0.1) ? 200_000 : 200))
      ),
    () => Buffer.from("[".repeat(63) + "]".repeat(63)),
    () =>
      Buffer.from(random.pick(["", " ", "null", "0", '""', "[]", "true", "\n", "{}{}", "//", '{"a":1,}', "\u0000"])),
    () => Buffer.from(text, "utf16le"),
    () => Buffer.from(`{"a":${"9".repeat(1 + random.below(5_000))}}`)
  ])()

const encoded = (plain: Buffer, random: Random): HostileBody =>
  random.pick<() => HostileBody>([
    () => ({
      bytes: gzipSync(plain),
      headers: [["content-encoding", random.pick(["gzip", "x-gzip", "GZIP", " gzip "])]]
    }),
    () => ({ bytes: brotliCompressSync(plain), headers: [["content-encoding", "br"]] }),
    () => ({
      bytes: plain,
      headers: [
        [
          "content-encoding",
          random.pick([
            "gzip",
            "br",
            "zstd",
            "deflate",
            "lzma",
            "gzip, gzip",
            "identity",
            "",
            "__proto__",
            "constructor",
            "x".repeat(300)
          ])
        ]
      ]
    }),
    () => ({ bytes: gzipSync(gzipSync(plain)), headers: [["content-encoding", "gzip"]] }),
    () => ({ bytes: gzipSync(plain).subarray(0, 5 + random.below(20)), headers: [["content-encoding", "gzip"]] }),
    () => ({
      bytes: brotliCompressSync(plain).subarray(0, 1 + random.below(8)),
      headers: [["content-encoding", "br"]]
    }),
    () => ({ bytes: Buffer.concat([gzipSync(plain), Buffer.from("junk")]), headers: [["content-encoding", "gzip"]] }),
    () => ({ bytes: Buffer.concat([gzipSync(plain), gzipSync(plain)]), headers: [["content-encoding", "gzip"]] }),
    () => ({
      bytes: Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      headers: [["content-encoding", "zstd"]]
    })
  ])()

/** A body for the operation as its users write it. */
export const calmBodyOf = (operation: Described, random: Random, hints: Hints): HostileBody => {
  if (operation.body === undefined) return { bytes: Buffer.alloc(0), headers: [] }
  const seeded = seedsFor(operation.id)
  const value = operation.body.isText
    ? undefined
    : seeded !== undefined
      ? seeded[0]
      : exampleOf(operation.body.schema, operation.deref, random, hints)
  const text = operation.body.isText ? '{"id":"n1","title":"Line","stock":1}\n' : JSON.stringify(value)
  return { bytes: Buffer.from(text ?? "null"), headers: [] }
}

/** A body for the operation: an example, mostly broken somewhere, in an encoding that may be misdeclared. */
export const bodyOf = (operation: Described, random: Random, hints: Hints): HostileBody => {
  if (operation.body === undefined)
    return { bytes: random.chance(0.1) ? Buffer.from(JSON.stringify(junk(random, 2))) : Buffer.alloc(0), headers: [] }
  const seeded = seedsFor(operation.id)
  let value: unknown = operation.body.isText
    ? undefined
    : seeded !== undefined && random.chance(0.7)
      ? random.pick(seeded)
      : exampleOf(operation.body.schema, operation.deref, random, hints)
  const line = () =>
    JSON.stringify(
      mutated(
        {
          id: `n${random.below(50)}`,
          title: "Line",
          stock: 1,
          tags: ["a"],
          place: [1, 2],
          maker: "m1",
          word: "a",
          root: "b"
        },
        random
      )
    )
  const times = random.below(10) < 3 ? 0 : 1 + random.below(3)
  for (let i = 0; i < times; i++) value = mutated(value, random)
  const text = operation.body.isText
    ? Array.from({ length: random.below(8) }, line).join(random.pick(["\n", "\r\n", "\n\n", ""]))
    : (JSON.stringify(value) ?? "null")
  const way = random.next()
  if (way < 0.12) return { bytes: brokenJson(text, random), headers: [] }
  if (way < 0.2) return encoded(Buffer.from(text), random)
  if (way < 0.203) return random.pick(zipBombs)
  if (way < 0.206) return { bytes: Buffer.from(`{"${"k".repeat(10)}":"${"x".repeat(5_500_000)}"}`), headers: [] }
  return {
    bytes: Buffer.from(text),
    headers: random.chance(0.2)
      ? [
          [
            "content-type",
            random.pick([
              "text/plain",
              "application/x-www-form-urlencoded",
              "multipart/form-data; boundary=x",
              "application/x-ndjson",
              "application/jsonl",
              "application/json; charset=utf-16",
              "x",
              "a/b/c;;;",
              "application/msgpack"
            ])
          ]
        ]
      : []
  }
}

/** Percent-encodes any text: lone surrogates as the bytes they would have. */
export const escaped = (text: string): string =>
  encodeURIComponent(
    text.replaceAll(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
  )

/** Parts of a path that no client writes. */
export const pathTricks: ReadonlyArray<string> = [
  "%2f",
  "%2F..%2Fkeys",
  "%00",
  "..",
  ".",
  "%2e%2e",
  "%252e%252e",
  "%c0%ae%c0%ae",
  "%zz",
  "%",
  "%u0041",
  "%ed%a0%80",
  "%ff",
  "goods%00",
  "goods%20",
  "goods%2f",
  "goods;a=b",
  "goods%3f",
  "goods%23",
  "GOODS",
  "%67oods",
  "*",
  "__proto__",
  "constructor",
  ":collectionName",
  "%3AcollectionName",
  "a".repeat(5_000),
  "%61".repeat(1_500),
  "%F0%9F%91%8D",
  "~",
  "'",
  '"',
  "|",
  "\\",
  "%5c..%5c",
  "+"
]

/** A query string: parameters of the operation, valid and invalid, repeated, as lists and objects. */
export const queryOf = (operation: Described, random: Random, hints: Hints, isUsual: boolean): string => {
  if (operation.query.length === 0 && random.chance(0.85)) return ""
  const parts: Array<string> = []
  const add = (name: string, value: unknown) =>
    parts.push(
      `${escaped(name)}=${!isUsual && random.chance(0.03) ? random.pick(pathTricks) : escaped(typeof value === "string" ? value : (JSON.stringify(value) ?? ""))}`
    )
  const isCalm = isUsual || random.chance(0.3)
  for (const { name, schema } of operation.query) {
    const hinted = Object.hasOwn(hints, name)
    if (isCalm) {
      // Few parameters other than the query and its fields: with many, some would be refused for others.
      if (!hinted || !random.chance(name === "q" || name === "query_by" ? 0.9 : 0.15)) continue
    } else if (!random.chance(hinted ? 0.6 : operation.query.length > 12 ? 0.08 : 0.5)) continue
    const value = isCalm
      ? random.pick(hints[name]!)
      : random.chance(0.65)
        ? exampleOf(schema, operation.deref, random, hints, name)
        : anyText(random, 300)
    add(name, value)
    if (isCalm) continue
    if (random.chance(0.06)) add(name, anyText(random, 50))
    if (random.chance(0.04)) add(`${name}[]`, value)
    if (random.chance(0.03)) add(`${name}[__proto__]`, value)
  }
  if (!isUsual && random.chance(0.1))
    add(
      random.pick(["__proto__", "constructor", "__proto__[polluted]", "toString", "", "x-svc-api-key"]),
      anyText(random, 50)
    )
  return parts.length === 0 ? "" : `?${parts.join("&")}`
}
