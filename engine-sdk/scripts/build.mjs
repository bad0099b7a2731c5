// What is published is JavaScript with declarations, because runtimes do not strip types inside `node_modules`. The
// repository itself runs from `src` and never reads `dist`. Runs before `npm pack` and `npm publish` (`prepack`).
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, "dist")
rmSync(dist, { recursive: true, force: true })
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")
const { status } = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], {
  stdio: ["ignore", 2, 2]
})
if (status !== 0) process.exit(status ?? 1)

// The compiler rewrites imports of programs; these two kinds of names it leaves as they are.
const names = { ".d.ts": /((?:from|import\()\s*"\.{1,2}\/[^"]+)\.ts"/g, ".js": /(new URL\("\.{1,2}\/[^"]+)\.ts"/g }
for (const name of readdirSync(dist, { recursive: true })) {
  const kind = Object.keys(names).find((ending) => name.endsWith(ending))
  if (kind === undefined) continue
  const file = join(dist, name),
    text = readFileSync(file, "utf8"),
    rewritten = text.replace(names[kind], '$1.js"')
  if (rewritten !== text) writeFileSync(file, rewritten)
}
