/**
 * Question: what does each entry of `engine-sdk` add to a program that bundles it? Workload: every entry alone,
 * complete (`export *`), and the one import that most programs have; bundled and minified from the sources. `later` is
 * what is loaded only on demand (the folder on disk). Excluded: optional packages. Sizes are the same on every machine.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { report, round } from "../harness/harness.ts"

export interface PackageOptions {
  readonly out: string | undefined
}
export interface EntrySize {
  readonly minified_bytes: number
  readonly gzip_bytes: number
  /** Of parts that are loaded on demand. */ readonly later_bytes: number
  /** Runtime modules that are needed immediately; a browser has none. */
  readonly runtime_modules: ReadonlyArray<string>
  /** Files of the package in the bundle, relative to `src`. */ readonly files: ReadonlyArray<string>
}
const sdk = new URL("../../engine-sdk/", import.meta.url).pathname
const PROGRAM = "program"

/**
 * The chunks of a program with this text. Imports of `./src` are relative to the package, and its own name resolves
 * there too.
 */
export const bundleOf = async (text: string) => {
  const bundle = await rolldown({
    input: PROGRAM,
    external: /^(node:|lmdb$|usearch$)/,
    platform: "neutral",
    logLevel: "silent",
    plugins: [
      {
        name: PROGRAM,
        resolveId: (id) =>
          id === PROGRAM ? join(sdk, "program.ts") : id === "@dowser/engine-sdk" ? join(sdk, "src/mod.ts") : null,
        load: (id) => (id === join(sdk, "program.ts") ? text : null)
      }
    ]
  })
  try {
    const { output } = await bundle.generate({ format: "esm", minify: true })
    return output.flatMap((part) => (part.type === "chunk" ? [part] : []))
  } finally {
    await bundle.close()
  }
}
export const sizeOf = async (text: string): Promise<EntrySize> => {
  const chunks = await bundleOf(text)
  // Chunks that the program's own chunk imports are loaded with it.
  const atOnce = new Set(chunks.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName))
  for (const name of atOnce)
    for (const other of chunks.find(({ fileName }) => fileName === name)?.imports ?? []) atOnce.add(other)
  const first = chunks.filter(({ fileName }) => atOnce.has(fileName))
  const bytes = (all: typeof chunks) => all.reduce((sum, { code }) => sum + Buffer.byteLength(code), 0)
  return {
    minified_bytes: bytes(first),
    gzip_bytes: first.reduce((sum, { code }) => sum + gzipSync(code).length, 0),
    later_bytes: bytes(chunks) - bytes(first),
    runtime_modules: [...atOnce].filter((name) => name.startsWith("node:")).sort(),
    files: first
      .flatMap(({ modules }) =>
        Object.entries(modules)
          .filter(([, { renderedLength }]) => renderedLength > 0)
          .map(([id]) => id.slice(join(sdk, "src/").length))
      )
      .filter((name) => name !== "")
      .sort()
  }
}

/** Sizes by the import that a program writes. */
export const measurePackage = async (): Promise<Readonly<Record<string, EntrySize>>> => {
  const { exports } = JSON.parse(readFileSync(join(sdk, "deno.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string>>
  }
  const sizes: Record<string, EntrySize> = {
    "{ createSearch }": await sizeOf(`export { createSearch } from "./src/mod.ts"`)
  }
  for (const [name, source] of Object.entries(exports))
    sizes[name] = await sizeOf(`export * from ${JSON.stringify(source)}`)
  return sizes
}

const kB = (bytes: number) => round(bytes / 1000, 1)
export const benchPackage = async ({ out }: PackageOptions): Promise<void> => {
  const sizes = await measurePackage()
  report(
    "package: each entry bundled alone, minified",
    Object.fromEntries(
      Object.entries(sizes).map(
        ([name, { files: _files, gzip_bytes, later_bytes, minified_bytes, runtime_modules }]) => [
          name,
          {
            minified_kb: kB(minified_bytes),
            gzip_kb: kB(gzip_bytes),
            later_kb: kB(later_bytes),
            runtime_modules: runtime_modules.length
          }
        ]
      )
    ),
    out
  )
}
