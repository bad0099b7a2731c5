/**
 * OpenSearch's installation folder, assembled from Maven Central: libraries, each module with the descriptor that its
 * jar lacks, and the vector plugin, which is complete. Assembled once per version and shared by all nodes;
 * `opensearch-node.ts` starts them.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join, resolve } from "node:path"
import { StartRefused } from "../runtime/data-folder.ts"

/** The adapter uses only what 3.x has too; this is the newest version that runs on Java 17. */
export const opensearchVersion = "2.19.1"
/** The folder's name identifies its contents: a folder from an earlier program contains less. */
export const opensearchFolder = `opensearch-${opensearchVersion}-vectors`
/** Its Lucene graphs need none of the native libraries that other distributions include. */
const VECTORS = {
  name: "opensearch-knn",
  version: `${opensearchVersion}.0`,
  sha256: "eab8c9818865bc035212eab5068cdacae164baa09d4c152f49b736d6f6b0e85c"
}

interface Dependency {
  readonly group: string
  readonly artifact: string
  readonly version: string
  readonly type?: "zip"
}
interface Module {
  readonly name: string
  readonly artifact: string
  readonly className: string
  readonly extends?: string
}
const plugin = (name: string, className: string, more: { artifact?: string; extends?: string } = {}): Module => ({
  name,
  artifact: name,
  className: `org.opensearch.${className}`,
  ...more
})
const CLIENTS = [
  plugin("aggs-matrix-stats", "search.aggregations.matrix.MatrixAggregationPlugin"),
  plugin("mapper-extras", "index.mapper.MapperExtrasPlugin"),
  plugin("parent-join", "join.ParentJoinPlugin"),
  plugin("percolator", "percolator.PercolatorPlugin"),
  plugin("rank-eval", "index.rankeval.RankEvalPlugin"),
  plugin("reindex", "index.reindex.ReindexPlugin"),
  plugin("transport-netty4", "transport.Netty4Plugin")
].map((module): Module => ({ ...module, artifact: `${module.name}-client` }))
const MODULES: ReadonlyArray<Module> = [
  plugin("analysis-common", "analysis.common.CommonAnalysisPlugin", { extends: "lang-painless" }),
  plugin("lang-painless", "painless.PainlessPlugin"),
  plugin("lang-expression", "script.expression.ExpressionPlugin"),
  plugin("ingest-common", "ingest.common.IngestCommonPlugin", { extends: "lang-painless" }),
  plugin("geo", "geo.GeoModulePlugin"),
  ...CLIENTS
]
/** The last three are optional dependencies of the first, but required. */
const LIBRARIES: ReadonlyArray<Dependency> = [
  { group: "org.opensearch", artifact: "opensearch", version: opensearchVersion },
  { group: "org.opensearch", artifact: "opensearch-plugin-classloader", version: opensearchVersion },
  { group: "org.apache.logging.log4j", artifact: "log4j-core", version: "2.21.0" },
  { group: "org.locationtech.jts", artifact: "jts-core", version: "1.15.0" },
  { group: "org.locationtech.spatial4j", artifact: "spatial4j", version: "0.7" }
]

const project = (artifact: string, body: string): string =>
  `<project><modelVersion>4.0.0</modelVersion><groupId>dowser</groupId><artifactId>${artifact}</artifactId><version>1</version><packaging>pom</packaging>${body}</project>`
const dependencies = (all: ReadonlyArray<Dependency>): string =>
  `<dependencies>${all
    .map(
      ({ group, artifact, type = "jar", version }) =>
        `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version><type>${type}</type></dependency>`
    )
    .join("")}</dependencies>`

/** One project for all of them, so that Maven starts once. Each is copied into its own `target/dependency`. */
const writeProjects = (folder: string): void => {
  const names = ["lib", ...MODULES.map(({ name }) => name), VECTORS.name]
  const write = (name: string, body: string) => {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, "pom.xml"), project(name, body))
  }
  write("lib", dependencies(LIBRARIES))
  for (const { name, artifact } of MODULES)
    write(name, dependencies([{ group: "org.opensearch.plugin", artifact, version: opensearchVersion }]))
  const { name: artifact, version } = VECTORS
  write(artifact, dependencies([{ group: "org.opensearch.plugin", artifact, version, type: "zip" }]))
  const modules = names.map((name) => `<module>${name}</module>`).join("")
  writeFileSync(join(folder, "pom.xml"), project("opensearch-nodes", `<modules>${modules}</modules>`))
}

const fetched = (folder: string, goal: "copy-dependencies" | "unpack-dependencies" = "copy-dependencies"): void => {
  const result = spawnSync("mvn", ["-B", "-ntp", "-q", `dependency:${goal}`, "-DincludeScope=runtime"], {
    cwd: folder,
    encoding: "utf8"
  })
  if (result.error !== undefined)
    throw new StartRefused("`mvn` cannot be run here: assembling OpenSearch needs Java 17 and Maven.")
  if (result.status !== 0)
    throw new StartRefused(`Maven could not fetch OpenSearch: ${(result.stderr || result.stdout).trim().slice(-600)}`)
}

const descriptor = (module: Module): string =>
  [
    `description=${module.name}`,
    `version=${opensearchVersion}`,
    `name=${module.name}`,
    `classname=${module.className}`,
    "java.version=11",
    `opensearch.version=${opensearchVersion}`,
    "has.native.controller=false",
    ...(module.extends === undefined ? [] : [`extended.plugins=${module.extends}`])
  ].join("\n")
/** Java 17 has the security manager. A loopback node for development may do everything. */
const POLICY = "grant { permission java.security.AllPermission; };\n"

/** Omits jars that the program itself contains, because each class loader would load a different copy of a class. */
const assemble = (projects: string, home: string): void => {
  // OpenSearch refuses to start if one of these is missing and cannot be created.
  for (const name of ["lib", "modules", "plugins", "bin", "extensions"])
    mkdirSync(join(home, name), { recursive: true })
  const jarsOf = (name: string) => join(projects, name, "target", "dependency")
  const own = new Set(readdirSync(jarsOf("lib")))
  for (const jar of own) copyFileSync(join(jarsOf("lib"), jar), join(home, "lib", jar))
  for (const module of MODULES) {
    const folder = join(home, "modules", module.name)
    mkdirSync(folder)
    for (const jar of readdirSync(jarsOf(module.name)))
      if (!own.has(jar)) copyFileSync(join(jarsOf(module.name), jar), join(folder, jar))
    writeFileSync(join(folder, "plugin-descriptor.properties"), descriptor(module))
    writeFileSync(join(folder, "plugin-security.policy"), POLICY)
  }
}

/** Unchanged, because it has its own descriptor and policy. */
const addVectors = (projects: string, home: string): void => {
  const own = join(projects, VECTORS.name),
    files = join(own, "target", "dependency")
  const archive = join(files, `${VECTORS.name}-${VECTORS.version}.zip`)
  if (createHash("sha256").update(readFileSync(archive)).digest("hex") !== VECTORS.sha256)
    throw new StartRefused(`What Maven fetched as ${VECTORS.name} ${VECTORS.version} is something else than it was.`)
  fetched(own, "unpack-dependencies")
  const folder = join(home, "plugins", VECTORS.name)
  mkdirSync(folder)
  for (const name of readdirSync(files))
    if (statSync(join(files, name)).isFile() && !name.endsWith(".zip"))
      copyFileSync(join(files, name), join(folder, name))
}

/** Root starts nodes as another user, and its files may be private. These contain no secrets. */
const readableByAll = (folder: string, home: string): void => {
  for (const path of [folder, home]) chmodSync(path, 0o755)
  for (const name of readdirSync(home, { recursive: true, encoding: "utf8" })) {
    const path = join(home, name)
    chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644)
  }
}

/** The installation folder of nodes, below `folder`; created if missing. Throws `StartRefused`. */
export const resolveOpensearch = (folder: string, report: (text: string) => void): string => {
  const home = join(resolve(folder), opensearchFolder)
  if (existsSync(home)) return home
  mkdirSync(folder, { recursive: true })
  report(`Fetching OpenSearch ${opensearchVersion} from Maven Central`)
  // A folder specific to this process: of two that fetch at the same time, the second uses what the first stored.
  const fresh = `${home}.${process.pid}`
  const projects = `${fresh}.projects`
  try {
    mkdirSync(projects, { recursive: true })
    writeProjects(projects)
    fetched(projects)
    assemble(projects, fresh)
    addVectors(projects, fresh)
    readableByAll(folder, fresh)
    if (!existsSync(home)) renameSync(fresh, home)
  } finally {
    rmSync(projects, { recursive: true, force: true })
    rmSync(fresh, { recursive: true, force: true })
  }
  return home
}
