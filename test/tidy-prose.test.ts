/**
 * The house rules for prose: a comment cites only what is in the repository, under an existing heading, so that a
 * reader can look it up.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { commentsOf, headingsOf } from "./support/prose.ts"

const root = resolve(new URL("..", import.meta.url).pathname)
const walk = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder).flatMap((entry) => {
    const path = join(folder, entry)
    if (entry === "node_modules" || entry === "dist" || entry.startsWith(".")) return []
    return statSync(path).isDirectory() ? walk(path) : [path]
  })
const read = (name: string): string => readFileSync(join(root, name), "utf8")
const nameOf = (path: string) => relative(root, path)
const folders = ["src", "streams", "log", "engine-sdk", "fixtures", "bench", "test", "scripts", "examples"]
const code = folders.flatMap((folder) => walk(join(root, folder))).filter((path) => /\.(ts|mts|mjs|js)$/.test(path))
const text = new Map(code.map((path) => [nameOf(path), readFileSync(path, "utf8")]))
const comments = [...text].map(([name, source]) => [name, commentsOf(source)] as const)

describe("citations in comments", () => {
  /** The path of a Markdown file of this repository, with or without the fragment of one of its headings. */
  const cited = /(?<![\w/.])((?:[\w-]+\/)*[\w-]+\.md)(?!\w)(?:#([\w-]+))?/g
  const headings = new Map<string, ReadonlySet<string>>()
  const isThere = (page: string, heading: string | undefined): boolean => {
    if (!existsSync(join(root, page))) return false
    if (heading === undefined) return true
    if (!headings.has(page)) headings.set(page, headingsOf(readFileSync(join(root, page), "utf8")))
    return headings.get(page)!.has(heading)
  }
  const missing = (name: string, comment: string): ReadonlyArray<string> =>
    [...comment.matchAll(cited)].flatMap(([whole, page, heading]) =>
      isThere(page!, heading) || isThere(join(name, "..", page!), heading) ? [] : [`${name}: ${whole}`]
    )

  it("name pages and headings that exist", () => {
    expect(comments.flatMap(([name, all]) => all.flatMap((comment) => missing(name, comment)))).toEqual([])
  })
  it("are reported when they name a page or a heading that does not exist", () => {
    expect(missing("src/a.ts", "See `docs/contract/filters.md#strings` and README.md.")).toEqual([])
    expect(missing("src/a.ts", "See `docs/contract/filters.md#nothing`, docs/absent.md")).toEqual([
      "src/a.ts: docs/contract/filters.md#nothing",
      "src/a.ts: docs/absent.md"
    ])
  })
  it("name no document outside the repository", () => {
    const old =
      /\b(?:engine[- ]contract|reference contract|contract(?:\.md)?,? (?:parts?|section) \d|contract's (?:order|table|engine)|[Cc]ontract part|[Ss]pec(?:ification)?,? parts? \d|spec\.md|design part|reference\/[a-z])/
    const found = (comment: string) => old.test(comment)
    expect(comments.flatMap(([name, all]) => all.filter(found).map((comment) => `${name}: ${comment}`))).toEqual([])
    for (const form of ["(engine-contract 5.1)", "Contract part 3.", "(spec parts 2 and 4)", "as spec part 6 tells"])
      expect(found(form)).toBe(true)
    expect(found("`docs/contract/filters.md`, the contract of a room")).toBe(false)
  })
  it("are read across the lines of a comment", () => {
    expect(commentsOf("/**\n * See (spec part\n * 4).\n */\n// a\n// b\nconst x = 1")).toEqual([
      "See (spec part 4).",
      "a b"
    ])
  })
})

describe("constants", () => {
  /** A number, or a product of numbers, that a module names. */
  const number = /^(?:export )?const (\w+)(?:: [^=\n]+)? = [-\d_.][-\d_.e*/ ]*$/gm
  const misspelt = (source: string): ReadonlyArray<string> =>
    [...source.matchAll(number)].flatMap(([, name]) => (/^[A-Z][A-Z0-9_]*$/.test(name!) ? [] : [name!]))

  it("that are numbers are spelt in capitals, the unit last", () => {
    const own = [...text].filter(([name]) => /^(src|streams|log|engine-sdk\/src)\//.test(name))
    expect(own.flatMap(([name, source]) => misspelt(source).map((found) => `${name}: ${found}`))).toEqual([])
  })
  it("in another spelling are reported", () => {
    expect(
      misspelt("const WAIT_ms = 10_000\nexport const listMax = 2 * 1024\nconst WAIT_MS = 5\nconst x = f(1)")
    ).toEqual(["WAIT_ms", "listMax"])
  })
})

describe("the glossary", () => {
  const table = read("CONTRIBUTING.md").split("## Words")[1]!.split("\n## ")[0]!
  const words = [...table.matchAll(/^\| (?!Word)([^|]+?) \|/gm)].map(([, word]) => word!)

  it("has sixty words or more, each once", () => {
    expect(words.length).toBeGreaterThanOrEqual(60)
    expect(words.filter((word, i) => words.indexOf(word) !== i)).toEqual([])
  })
  /** Words that were replaced, each with the word of the glossary. */
  const retired = new Map([
    ["understudy", "shadow"],
    ["ReplayBoard", "replay requests"],
    ["holdSoon", "reserve or wait"],
    ["Contest", "top-k"]
  ])
  it("has replaced older words", () => {
    const found = [...text].flatMap(([name, source]) =>
      [...retired.keys()].flatMap((word) => (new RegExp(`\\b${word}\\b`).test(source) ? [`${name}: ${word}`] : []))
    )
    expect(found.filter((one) => !one.startsWith("test/tidy-prose"))).toEqual([])
  })
})

describe("names of types", () => {
  /**
   * Participles say what was done to a thing and not what it is: as names of types, each was used for a dozen things.
   */
  const vague = /^(?:export )?(?:interface|type|class) (Answered|Held|Waiting|Known|Told|Kept|Said)\b/gm
  it("that are bare participles are not used", () => {
    const own = [...text].filter(([name]) => /^(src\/(?!voice)|streams\/|log\/|engine-sdk\/src\/)/.test(name))
    expect(
      own.flatMap(([name, source]) => [...source.matchAll(vague)].map(([, found]) => `${name}: ${found}`))
    ).toEqual([])
  })
})

describe("sizes", () => {
  const prose = ["", "docs", "docs/contract", "bench", "streams", "engine-sdk"].flatMap((folder) =>
    readdirSync(join(root, folder)).flatMap((name) => (name.endsWith(".md") ? [join(folder, name)] : []))
  )

  it("of lines: less than one in a hundred has more than 120 characters, tables apart", () => {
    const lines = [...text.values(), ...prose.map(read)].flatMap((source) => source.split("\n"))
    const long = lines.filter((line) => line.length > 120 && !line.trimStart().startsWith("|"))
    expect(lines.length).toBeGreaterThan(200_000)
    expect(long.length / lines.length).toBeLessThan(0.01)
  })
  /** Files of one idea each, as ARCHITECTURE says; they may only become shorter. */
  const owed = new Map([
    ["engine-sdk/src/memory/local-engine.ts", 803],
    ["engine-sdk/src/query/compile-search.ts", 751],
    ["src/demo/page/page.js", 646]
  ])
  it("of files: none has more than 500 lines but three of one idea each", () => {
    const large = [...text].flatMap(([name, source]) => {
      const lines = source.split("\n").length - 1
      const limit = owed.get(name) ?? 500
      return /^(src|streams|log|engine-sdk\/src)\//.test(name) && lines > limit ? [`${name}: ${lines}`] : []
    })
    expect(large).toEqual([])
    expect(owed.size).toBeLessThanOrEqual(3)
    expect([...owed.keys()].filter((name) => !text.has(name) || text.get(name)!.split("\n").length <= 501)).toEqual([])
  })
})
