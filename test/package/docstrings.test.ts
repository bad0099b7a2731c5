/**
 * Every export of `engine-sdk` for programs has a docstring with an example, and all examples compile, in one program,
 * against the package as its users import it.
 *
 * Decision: every value (a function, a class, a constant) needs an example. A type needs none of its own, because a
 * value that takes or returns it shows it; the second test enforces this. Entries for hosts are not promised to
 * programs (the package's README says so), and Dowser's own server serves as their example.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"

const root = new URL("../..", import.meta.url).pathname
const sdk = join(root, "engine-sdk")
const manifest = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")) as {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly "dowser-source": string }>>
}
/** Parts of Dowser's own server; another host may use them but must follow our changes. */
const HOSTS: ReadonlySet<string> = new Set([
  "./analysis",
  "./documents",
  "./embedding",
  "./host",
  "./operations",
  "./query",
  "./schema",
  "./tables"
])

interface Export {
  readonly file: string
  readonly isType: boolean
}
const textOf = (file: string): string => readFileSync(file, "utf8")
const KEYWORDS = "const|function\\*?|async function\\*?|class|abstract class|interface|type|enum"
/** A module's exports by name, each with the file that declares it. */
const exportsOf = (file: string): ReadonlyMap<string, Export> => {
  const text = textOf(file).replace(/\/\*[\s\S]*?\*\//g, "")
  const at = (path: string) => normalize(join(dirname(file), path))
  const found = new Map<string, Export>()
  for (const [, path] of text.matchAll(/^export (?:type )?\* from "([^"]+)"/gm))
    for (const [name, one] of exportsOf(at(path!))) found.set(name, one)
  for (const [, typed, names, path] of text.matchAll(/^export (type )?\{([^}]*)\} from "([^"]+)"/gm)) {
    const there = exportsOf(at(path!))
    for (const written of names!.split(",").map((name) => name.trim())) {
      if (written === "") continue
      const [name = "", own = name] = written.replace(/^type /, "").split(" as ")
      const one = there.get(name)
      if (one === undefined) throw new Error(`${relative(root, file)}: ${name} is not exported by ${path}`)
      found.set(own, { ...one, isType: one.isType || typed !== undefined || written.startsWith("type ") })
    }
  }
  for (const [, keyword, name] of text.matchAll(new RegExp(`^export (?:declare )?(${KEYWORDS}) (\\w+)`, "gm")))
    found.set(name!, { file, isType: keyword === "interface" || keyword === "type" })
  return found
}

interface Public extends Export {
  readonly name: string
  /** The entries from which programs import it. */ readonly entries: ReadonlyArray<string>
}
const listed = (): ReadonlyArray<Public> => {
  const all = new Map<string, Export & { readonly entries: Array<string> }>()
  for (const [entry, where] of Object.entries(manifest.exports)) {
    if (typeof where === "string" || HOSTS.has(entry)) continue
    for (const [name, one] of exportsOf(join(sdk, where["dowser-source"]))) {
      const known = all.get(name)
      if (known === undefined) all.set(name, { ...one, entries: [manifest.name + entry.slice(1)] })
      else known.entries.push(manifest.name + entry.slice(1))
    }
  }
  return [...all].map(([name, one]) => ({ name, ...one }))
}

/** The docstring directly above a declaration. */
const docstringOf = (text: string, name: string): string | undefined =>
  new RegExp(`(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/)\\nexport (?:declare )?(?:${KEYWORDS}) ${name}\\b`).exec(text)?.[1]
const examplesIn = (docstring: string): ReadonlyArray<string> =>
  [...docstring.matchAll(/@example\n \* ```ts\n([\s\S]*?) \* ```/g)].map(([, code]) =>
    code!.replace(/^ \* ?/gm, "").trimEnd()
  )
/** What is wrong with an export's documentation, in one sentence; undefined if nothing is. */
const complaint = ({ entries, name }: Omit<Public, "file" | "isType">, text: string): string | undefined => {
  const docstring = docstringOf(text, name)
  if (docstring === undefined) return `${name} has no docstring`
  const examples = examplesIn(docstring)
  if (examples.length === 0) return `${name} has no example`
  const imports = entries.map((entry) => new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from "${entry}"`))
  return examples.some((code) => imports.some((pattern) => pattern.test(code)))
    ? undefined
    : `${name} is not imported by its example from ${entries[0]}`
}

let folder: string
beforeAll(() => {
  // The folder is inside the package, where the package's name and its optional dependencies resolve.
  folder = mkdtempSync(join(sdk, ".docstrings-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
/** The compiler's messages about programs, which are given by name. */
const compiled = (programs: ReadonlyMap<string, string>): string => {
  const own = mkdtempSync(join(folder, "programs-"))
  for (const [name, code] of programs) writeFileSync(join(own, `${name}.ts`), `${code}\n`)
  writeFileSync(
    join(own, "tsconfig.json"),
    JSON.stringify({ extends: "../../../tsconfig.json", include: ["*.ts"], exclude: [] })
  )
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
  const { status, stderr, stdout } = spawnSync("node", [tsc, "-p", own, "--pretty", "false"], { encoding: "utf8" })
  return status === 0 ? "" : `${stdout}${stderr}`
}

it("every value has a docstring with an example that imports it", () => {
  const values = listed().filter(({ isType }) => !isType)
  expect(values.length).toBeGreaterThan(100)
  expect(values.flatMap((one) => complaint(one, textOf(one.file)) ?? [])).toEqual([])
})
it("every type is named in the module of a value with an example, or in that of such a type", () => {
  const all = listed()
  const carriers = new Set(all.flatMap(({ file, isType }) => (isType ? [] : [file])))
  const left = new Set(all.filter(({ isType }) => isType))
  for (let before = -1; before !== left.size;) {
    before = left.size
    const texts = [...carriers].map(textOf)
    for (const one of left)
      if (texts.some((text) => new RegExp(`\\b${one.name}\\b`).test(text))) {
        left.delete(one)
        carriers.add(one.file)
      }
  }
  expect([...left].map(({ file, name }) => `${relative(root, file)}: ${name}`)).toEqual([])
})
it("every example compiles", () => {
  const programs = new Map(
    listed().flatMap(({ file, isType, name }) =>
      isType ? [] : examplesIn(docstringOf(textOf(file), name) ?? "").map((code, i) => [`${name}-${i}`, code] as const)
    )
  )
  expect(programs.size).toBeGreaterThan(100)
  expect(compiled(programs)).toBe("")
})
it("an example that is missing, belongs to something else, or does not compile is reported", () => {
  const own = { name: "mean", entries: [`${manifest.name}/judging`] }
  const shown = (code: string) =>
    `/**\n * The mean.\n *\n * @example\n * \`\`\`ts\n${code}\n * \`\`\`\n */\nexport const mean = 1`
  const right = `import { mean } from "${own.entries[0]}"`
  expect(complaint(own, "export const mean = 1")).toBe("mean has no docstring")
  expect(complaint(own, "/** The mean. */\nexport const mean = 1")).toBe("mean has no example")
  expect(complaint(own, shown(' * import { mode } from "elsewhere"'))).toContain("mean is not imported")
  expect(complaint(own, shown(` * ${right}`))).toBe(undefined)
  expect(compiled(new Map([["right", `${right}\n\nmean([1])`]]))).toBe("")
  expect(compiled(new Map([["wrong", `${right}\n\nmean(1)`]]))).toMatch(/wrong\.ts\(3,6\): error/)
})
