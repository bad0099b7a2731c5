/**
 * The house rules as a test: who may import whom, where clock and randomness may be read, that queues are bounded, that
 * no file is an orphan, and that nothing names this machine.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { circlesOf } from "./support/circles.ts"
import { longFunctions } from "./support/long-functions.ts"
import { readExports, unusedExports } from "./support/module-exports.ts"
import { packages, resolveModule } from "./support/packages.ts"
import { readModule, unguardedLookups } from "./support/property-names.ts"

const root = resolve(new URL("..", import.meta.url).pathname)
const walk = (folder: string): ReadonlyArray<string> =>
  !existsSync(folder)
    ? []
    : readdirSync(folder).flatMap((entry) => {
        const path = join(folder, entry)
        return entry === "node_modules" || entry === "dist" || entry.startsWith(".")
          ? []
          : statSync(path).isDirectory()
            ? walk(path)
            : [path]
      })
const folders = ["src", "streams", "log", "engine-sdk", "fixtures", "bench", "test", "scripts"]
const files = folders.flatMap((folder) => walk(join(root, folder))).filter((path) => /\.(ts|mjs|js)$/.test(path))
const nameOf = (path: string) => relative(root, path)
const text = new Map(files.map((path) => [path, readFileSync(path, "utf8")]))
/** The source without comments, which may contain what looks like code. */
const codeOf = (path: string) => (text.get(path) ?? "").replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "")

const referred = (path: string, pattern: RegExp): ReadonlyArray<string> =>
  [...codeOf(path).matchAll(pattern)].flatMap((match) => resolveModule(nameOf(path), match[1]!) ?? [])
const importedBy = (path: string): ReadonlyArray<string> =>
  referred(path, /(?:from|import)\s*\(?\s*["']((?:\.{1,2}|@dowser)\/[^"']+)["']/g)
/** Imports, including the programs and threads that the file starts. */
const importsOf = (path: string): ReadonlyArray<string> => [
  ...importedBy(path),
  ...referred(path, /new URL\(\s*["'](\.{1,2}\/[^"']+\.(?:ts|mjs|js))["']/g)
]
const inFolder = (name: string, folder: string) => name.startsWith(`${folder}/`)
const violations = (rule: (from: string, to: string) => boolean): ReadonlyArray<string> =>
  files.flatMap((path) =>
    importsOf(path)
      .filter((to) => rule(nameOf(path), to))
      .map((to) => `${nameOf(path)} -> ${to}`)
  )

describe("import directions", () => {
  it("engine-sdk imports no other package of ours", () => {
    expect(violations((from, to) => inFolder(from, "engine-sdk/src") && !inFolder(to, "engine-sdk"))).toEqual([])
  })
  it("engine-sdk uses no Effect", () => {
    expect(
      files
        .filter((path) => inFolder(nameOf(path), "engine-sdk/src") && /from ["'](effect|@effect\/)/.test(codeOf(path)))
        .map(nameOf)
    ).toEqual([])
  })
  it("only runtime, main, the command line and tests see adapters", () => {
    const isAdapter = (name: string) =>
      /^(log\/event-log\/(lmdb|kafka)|engine-sdk\/src\/(?:opensearch|typesense)|src\/ports\/(counter\/leased-sql|outbound-http\/node))/.test(
        name
      )
    expect(
      violations(
        (from, to) =>
          isAdapter(to) &&
          !/^(src\/runtime|src\/main\.ts|src\/cli|streams\/(main|host\/worker(-log)?)\.ts|test|bench)/.test(from) &&
          !isAdapter(from)
      )
    ).toEqual([])
  })
  it("ports know no room", () => {
    expect(
      violations((from, to) => inFolder(from, "src/ports") && inFolder(to, "src") && !/^src\/(ports|net)\//.test(to))
    ).toEqual([])
  })
  it("the log imports no other package of ours, and the streams nothing of the server", () => {
    expect(violations((from, to) => inFolder(from, "log") && /^(src|streams|test|bench|fixtures)\//.test(to))).toEqual(
      []
    )
    expect(violations((from, to) => inFolder(from, "streams") && /^(src|test|bench|fixtures)\//.test(to))).toEqual([])
  })
  it("packages are imported by name, through what they export, and every export but the SDK's is imported", () => {
    const home = (name: string) => [...packages.values()].find(({ folder }) => inFolder(name, folder))?.folder
    const packaged = files.filter(
      (path) => home(nameOf(path)) !== undefined && !/\/(test|scripts)\//.test(nameOf(path))
    )
    const written = packaged.flatMap((path) =>
      [...codeOf(path).matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map(
        (match) => [nameOf(path), match[1]!] as const
      )
    )
    const isDeep = ([from, to]: readonly [string, string]) => {
      const file = resolveModule(from, to)
      if (!to.startsWith(".")) return to.startsWith("@dowser/") && file === undefined
      return file !== undefined && home(file) !== undefined && home(file) !== home(from)
    }
    expect(written.filter(isDeep)).toEqual([])
    const asked = new Set(written.map(([, to]) => to))
    const idle = [...packages].flatMap(([name, { exports }]) =>
      name === "@dowser/engine-sdk" ? [] : [...exports.keys()].map((subpath) => name + subpath.slice(1))
    )
    expect(idle.filter((name) => !asked.has(name) && !name.endsWith("package.json"))).toEqual([])
  })
  it("the HTTP kernel and identity know no room", () => {
    const kernel = /^src\/(http|identity|net|api)\//
    expect(violations((from, to) => kernel.test(from) && inFolder(to, "src") && !kernel.test(to))).toEqual([])
  })
  it("a room never opens another room's repository", () => {
    expect(
      violations(
        (from, to) =>
          /^src\/[^/]+\/.*repository[^/]*\.ts$/.test(to) &&
          from.split("/")[1] !== to.split("/")[1] &&
          inFolder(from, "src") &&
          !/^src\/(runtime|organizations)\//.test(from)
      )
    ).toEqual([])
  })
  it("src does not depend on tests, benches or fixtures, except the demo and the command line", () => {
    expect(
      violations(
        (from, to) => inFolder(from, "src") && /^(test|bench|fixtures)\//.test(to) && !/^src\/(demo|cli)\//.test(from)
      )
    ).toEqual([])
  })
})

describe("time and chance", () => {
  /** Services, adapters of the machine, and programs of their own. */
  const allowed =
    /^(src\/ports\/|log\/event-log\/|log\/identifiers\.ts|src\/runtime\/|src\/access\/seal\.ts|src\/cli\/|src\/http\/edges\.ts|src\/demo\/page\/|src\/main\.ts|streams\/(host\/worker|main)\.ts|scripts\/|test\/|bench\/|fixtures\/random\.ts|engine-sdk\/src\/collection\/clock\.ts|engine-sdk\/(test|bench)\/)/
  it("are read through services only", () => {
    const reads = /\b(Date\.now|Math\.random|randomBytes|randomUUID|new Date\(\))\b|new Date\(\)/
    expect(files.filter((path) => !allowed.test(nameOf(path)) && reads.test(codeOf(path))).map(nameOf)).toEqual([])
  })
})

describe("bounds", () => {
  it("no unbounded queue", () => {
    expect(
      files
        .filter(
          (path) => /^(src|streams|log)\//.test(nameOf(path)) && /(Queue|PubSub|Mailbox)\.unbounded/.test(codeOf(path))
        )
        .map(nameOf)
    ).toEqual([])
  })
  it("no switched-off types", () => {
    expect(
      files
        .filter(
          (path) =>
            /^(src|streams|log|engine-sdk\/src)\//.test(nameOf(path)) &&
            /@ts-(ignore|nocheck|expect-error)|\bas any\b/.test(codeOf(path))
        )
        .map(nameOf)
    ).toEqual([])
  })
  it("no test that is switched off in its text", () => {
    expect(
      files
        .filter(
          (path) =>
            /\.test\.ts$/.test(path) &&
            !path.endsWith("tidy.test.ts") &&
            /\b(it|test|describe)\.(only|todo)\b/.test(codeOf(path))
        )
        .map(nameOf)
    ).toEqual([])
  })
})

describe("names from outside", () => {
  /** Lookups by names of our own, or without consequence; each with its reason. */
  const allowed = new Map([
    ["engine-sdk/src/documents/merge.ts: document[OPERATIONS_KEY]", "a constant"],
    ["engine-sdk/src/operations/import-export.ts: refusalOf[line]", "a symbolic verdict of ours, not a line's text"],
    ["engine-sdk/src/schema/field-attributes.ts: raw[attribute]", "names of attributes, a constant list"],
    ["src/analytics-rules/rule-input.ts: EVENT_TYPES[kind]", "a kind that the list of kinds holds"],
    ["src/analytics-rules/rule-input.ts: PARAMS[kind]", "a kind that the list of kinds holds"],
    ["src/analytics/rollups-repository.ts: views[asked.order]", "an order that the schema of the request allows"],
    ["src/catalog/resources-contract.ts: described[kind]", "the two kinds of sets"],
    [
      'src/http/operation.ts: usualPayloadMedia[options.payloadType ?? "json"]',
      "types of bodies, when the program starts"
    ],
    [
      'src/http/operation.ts: usualSuccessMedia[options.successType ?? "json"]',
      "types of answers, when the program starts"
    ],
    ["src/console/attempts.ts: limits[kind]", "the two kinds of attempts"],
    ["src/events/intake/accept-batch.ts: requirements[event.type]", "a type that the set of types holds"],
    ["src/health/verdict.ts: sentences[name]", "names of counters, of ours"],
    ["src/metering/wallet-repository.ts: statusOf[how]", "the two ends of a reservation"],
    ["log/event-log/kafka/record-batch.ts: ATTRIBUTES[compression]", "an option of the operator, checked at the start"],
    ["log/event-log/kafka/security.ts: env[name]", "names of variables, of ours"],
    ["engine-sdk/src/budget/answer-budget.ts: LOWER[part]", "the parts of an answer, of ours"],
    ["engine-sdk/src/query/plan-templates.ts: PARAMETER_OWNERS[name]", "the table's own keys"],
    ["src/access/keys/narrower.ts: reaching[own.scope]", "the scope of a stored key"],
    ["src/engine-plane/resource-rows.ts: isList[kind]", "kinds of resources, of ours"],
    ["src/metering/windowed-caps.ts: windows[feature]", "features that are counted by time, of ours"],
    ["src/api/read-input.ts: parseRefusals[parsed]", "the refusals of the parser, of ours"],
    ["src/identity/restrictions.ts: parameters[name]", "names of parameters, of ours"],
    ["src/search/timely-engine.ts: refusals[reason]", "the reasons of ours"],
    ["src/http/render.ts: codes[status]", "a number"],
    ["src/http/render.ts: gatewayByStatus[status]", "a number"],
    ["src/http/render.ts: gatewayByTag[error._tag]", "tags of errors, of ours"],
    ["src/api/route.ts: raw[name]", "names in paths of operations, of ours"],
    ["src/http/refusals.ts: byScope[scope]", "scopes of operations, of ours"],
    ["src/http/zstd-frames.ts: HEADER_BYTES[part]", "the part that is being read, of ours"],
    ["streams/erasure/linking.ts: entries[topic]", "names of topics, of ours"],
    ["streams/replays/coordinator.ts: steps[run.phase]", "the phases of a run, of ours"]
  ])
  it("are looked up in maps, or after `Object.hasOwn`", () => {
    const modules = files
      .filter((path) => /^(src|streams|log|engine-sdk\/src)\//.test(nameOf(path)) && path.endsWith(".ts"))
      .map((path) => readModule(nameOf(path), text.get(path) ?? ""))
    const found = unguardedLookups(modules, (from, written) => resolveModule(from, written) ?? written)
    expect(found.filter((lookup) => !allowed.has(lookup))).toEqual([])
    expect([...allowed.keys()].filter((lookup) => !found.includes(lookup))).toEqual([])
  })
  it("are reported: a table, an import of one, a JSON object, and not guarded lookups", () => {
    const modules = [
      readModule(
        "a.ts",
        'export const TABLE: Readonly<Record<string, string>> = { a: "b" } as const\nexport const f = (word: string) => TABLE[word] ?? (word in TABLE)'
      ),
      readModule("b.ts", 'import { TABLE as T } from "./a.ts"\nexport const f = (word: string) => T[word]!'),
      readModule(
        "c.ts",
        "export const f = (document: { readonly [key: string]: unknown }, name: string) => { const own = document[name]; return own }"
      ),
      readModule(
        "d.ts",
        'const OTHER = { a: 1 }\nexport const f = (word: string, list: string[], i: number) => [Object.hasOwn(OTHER, word) ? OTHER[word as "a"] : OTHER["a"], list[i], new Map([[word, 1]]).get(word)]'
      )
    ]
    expect(unguardedLookups(modules, (_from, written) => written.slice(2))).toEqual(
      ["a.ts: TABLE[word]", "b.ts: T[word]", "c.ts: document[name]", 'd.ts: OTHER[word as "a"]'].slice(0, 3)
    )
  })
})

describe("garbage stays young", () => {
  const own = files.filter((path) => /^(src|streams|log|engine-sdk\/src)\//.test(nameOf(path)))
  it("no handler makes a generator function for each request", () => {
    expect(
      own
        .filter((path) =>
          /implement\(\s*[\w.]+,\s+(async )?\([^()]*\)[^=]*=>\s*Effect\.gen\(function\*/.test(codeOf(path))
        )
        .map(nameOf)
    ).toEqual([])
  })
  it("no property is set to a function that is written there, but once at the start", () => {
    const once = new Set([
      "src/demo/page/page.js",
      "log/event-log/kafka/kafkajs-internals.ts",
      "log/event-log/kafka/codecs.ts"
    ])
    const set = /(\.[#\w]+|\w\]) (\?\?)?=\s+(async )?(\([^()]*\)(: [^=\n]+)? =>|\w+ =>|function\b)/
    expect(own.filter((path) => !once.has(nameOf(path)) && set.test(codeOf(path))).map(nameOf)).toEqual([])
  })
})

describe("files", () => {
  it("none is an orphan", () => {
    const reached = new Set(files.flatMap((path) => importsOf(path)))
    const entries =
      /(\.test\.ts|\.config\.ts|^(engine-sdk\/)?scripts\/|^src\/main\.ts|^src\/demo\/page\/|^engine-sdk\/src\/mod\.ts|^engine-sdk\/examples\/|^fixtures\/main\.ts|^bench\/|^streams\/main\.ts)/
    const exported = readFileSync(join(root, "engine-sdk/deno.json"), "utf8")
    // A program of its own is named by the file that starts it.
    const isStarted = (name: string) =>
      readFileSync(join(root, "vitest.config.ts"), "utf8").includes(`"${name}"`) ||
      files.some((path) => nameOf(path) !== name && (text.get(path) ?? "").includes(`${name.split("/").pop()}"`))
    expect(
      files
        .map(nameOf)
        .filter(
          (name) =>
            !reached.has(name) &&
            !isStarted(name) &&
            !entries.test(name) &&
            !exported.includes(name.replace(/^engine-sdk\//, "./"))
        )
    ).toEqual([])
  })
  it("export no value and no type that nobody imports", () => {
    const written = (from: string, to: string) => resolveModule(from, to) ?? to
    // Programs that read the packed package are not among these files.
    const modules = files
      .filter((path) => !inFolder(nameOf(path), "test/package/programs"))
      .map((path) => readExports(nameOf(path), text.get(path) ?? ""))
    const entries = Object.values(
      (
        JSON.parse(readFileSync(join(root, "engine-sdk/deno.json"), "utf8")) as {
          readonly exports: Record<string, string>
        }
      ).exports
    ).map((path) => join("engine-sdk", path))
    // A contract exports all shapes of its wire format, including those that only its own operations use.
    expect(unusedExports(modules, entries, written).filter((found) => !/\/contract\.ts: /.test(found))).toEqual([])
  })
  it("have their unused exports reported: by namespace, passed on, destructured", () => {
    const modules = [
      readExports(
        "a.ts",
        "export const one = 1, { two, three: [four] } = f()\nexport class Five {}\nexport type Six = 6\nconst seven = 7\nexport { seven as eight }"
      ),
      readExports("b.ts", 'export * from "./a.ts"\nexport const own = 1'),
      readExports("c.ts", 'import * as b from "./b.ts"\nconst x = b.two + other.b.one'),
      readExports("d.ts", 'const { four } = await import("./a.ts")'),
      readExports("e.ts", "export const all = 1"),
      readExports("f.ts", 'import * as e from "./e.ts"\nObject.keys(e)')
    ]
    const written = (_from: string, to: string) => to.slice(2)
    expect(unusedExports(modules, [], written)).toEqual([
      "a.ts: Five",
      "a.ts: Six",
      "a.ts: eight",
      "a.ts: one",
      "b.ts: own"
    ])
    expect(unusedExports(modules, ["b.ts"], written)).toEqual([])
  })
  it("form no circles", () => {
    expect(circlesOf(new Map(files.map((path) => [nameOf(path), importedBy(path)])))).toEqual([])
  })
  it("form no circles of folders", () => {
    /** The folder below a package's sources; files beside it are their own. */
    const folderOf = (name: string): string => {
      const [, folder] = /^((?:src|streams|log|engine-sdk\/src)\/[^/]+)/.exec(name) ?? []
      return folder ?? ""
    }
    const edges = new Map<string, Set<string>>()
    for (const path of files) {
      const from = folderOf(nameOf(path))
      const reached = edges.get(from) ?? new Set<string>()
      for (const to of importedBy(path).map(folderOf)) if (to !== from && to !== "") reached.add(to)
      if (from !== "") edges.set(from, reached)
    }
    expect(circlesOf(new Map([...edges].map(([from, reached]) => [from, [...reached]])))).toEqual([])
  })
  it("have no function of more than 80 lines except those listed, which may only become shorter", () => {
    const handlers = "a list of handlers, one call each"
    const statements = "a list of one statement a name"
    const owed: ReadonlyMap<string, { readonly lines: number; readonly why: string }> = new Map([
      ["engine-sdk/src/testing/engine-suite.ts: engineSuite", { lines: 354, why: "a list of cases, one call each" }],
      [
        "engine-sdk/src/operations/named-sets.ts: namedSets",
        { lines: 84, why: "a list of operations of one kind of set" }
      ],
      ["src/analytics-rules/rules-repository.ts: makeRulesRepository", { lines: 126, why: statements }],
      ["src/catalog/resources-contract.ts: setOperations", { lines: 97, why: "a list of operations" }],
      ["src/console/routes.ts: routes", { lines: 90, why: handlers }],
      ["src/events/routes.ts: routes", { lines: 83, why: handlers }],
      ["src/webhooks/deliveries-repository.ts: makeDeliveriesRepository", { lines: 115, why: statements }]
    ])
    const found = new Map<string, number>()
    for (const path of files.filter((one) => /^(src|streams|log|engine-sdk\/src)\/.*\.ts$/.test(nameOf(one))))
      for (const { lines, name } of longFunctions(nameOf(path), text.get(path) ?? "", 80)) {
        const place = `${nameOf(path)}: ${name}`
        found.set(place, Math.max(lines, found.get(place) ?? 0))
      }
    expect([...found].filter(([place, lines]) => lines > (owed.get(place)?.lines ?? 80))).toEqual([])
    expect([...owed.keys()].filter((place) => !found.has(place))).toEqual([])
  })
  it("report circles", () => {
    expect(
      circlesOf(
        new Map([
          ["a", ["b", "d"]],
          ["b", ["c"]],
          ["c", ["a"]],
          ["d", ["e"]],
          ["e", ["d", "f"]],
          ["f", []],
          ["g", ["g", "a"]]
        ])
      )
    ).toEqual([["a", "b", "c"], ["d", "e"], ["g"]])
  })
  it("none names this machine or a registry", () => {
    const machine = new RegExp(
      [
        "/wo" + "rk/",
        "/fa" + "rm/",
        "registry\\.npm" + "js",
        "repo1?\\.mav" + "en",
        "deb\\.deb" + "ian",
        "pypi\\.o" + "rg"
      ].join("|")
    )
    expect(files.filter((path) => machine.test(text.get(path) ?? "")).map(nameOf)).toEqual([])
    for (const lock of ["package-lock.json", "test/package/runtimes/package-lock.json", "models/package-lock.json"])
      expect(/"resolved": "http/.test(readFileSync(join(root, lock), "utf8"))).toBe(false)
  })
  it("have no comment wider than 120 columns, which the formatter leaves as it is", () => {
    const wide = /^\s*(\/\*\*?|\*|\/\/) .{1,}$/
    const found = files.flatMap((path) =>
      (text.get(path) ?? "")
        .split("\n")
        .flatMap((line, i) =>
          line.length > 120 && wide.test(line) && !/https?:|oxlint/.test(line) ? [`${nameOf(path)}:${i + 1}`] : []
        )
    )
    expect(found).toEqual([])
  })
  it("exist where a document names them", () => {
    const documents = ["", "docs", "bench", "streams", "engine-sdk"].flatMap((folder) =>
      readdirSync(join(root, folder)).flatMap((name) => (name.endsWith(".md") ? [join(folder, name)] : []))
    )
    const named = documents.flatMap((document) =>
      [...readFileSync(join(root, document), "utf8").matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|mjs))`/g)].map(
        (match) => [document, match[1]!] as const
      )
    )
    const names = files.map(nameOf)
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter(([, path]) => !names.some((name) => name === path || name.endsWith(`/${path}`)))).toEqual([])
  })
  it("are not named like helper drawers", () => {
    expect(
      files.map(nameOf).filter((name) => /(^|\/)(utils?|helpers?|common|manager|data)(\.ts|\/)/.test(name))
    ).toEqual([])
  })
})
