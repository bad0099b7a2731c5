/** The table in `docs/engines.md` matches what the engines declare. */
import { readFileSync, writeFileSync } from "node:fs"
import { expect, it } from "vitest"
import type { Capabilities, Capability } from "../../engine-sdk/src/capabilities.ts"
import { createEngine } from "../../engine-sdk/src/mod.ts"
import { OPENSEARCH } from "../../engine-sdk/src/opensearch/mod.ts"
import { TYPESENSE } from "../../engine-sdk/src/typesense/mod.ts"

const file = new URL("../../docs/engines.md", import.meta.url)
const BEGIN = "<!-- table -->\n"
const END = "<!-- /table -->"

const rows = (engines: ReadonlyArray<readonly [string, Capabilities]>): string => {
  const names = Object.keys(engines[0]![1].grades) as ReadonlyArray<Capability>
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`
  const limit = (name: keyof Capabilities["limits"]) =>
    line([`\`${name}\``, ...engines.map(([, { limits }]) => limits[name].toLocaleString("en"))])
  return [
    line(["", ...engines.map(([name]) => name)]),
    line(["---", ...engines.map(() => "---")]),
    ...names.map((name) => line([name.replaceAll("_", " "), ...engines.map(([, { grades }]) => grades[name])])),
    ...(["window_max", "filter_clauses_max", "facet_values_max", "batch_bytes_max", "visible_after_ms"] as const).map(
      limit
    )
  ].join("")
}

it("the table of capabilities matches what the engines declare", async () => {
  const engine = createEngine({ approximateFrom: Infinity })
  const wanted = rows([
    ["embedded", engine.capabilities()],
    ["opensearch", OPENSEARCH],
    ["http", TYPESENSE]
  ])
  await engine.close()
  const text = readFileSync(file, "utf8")
  const from = text.indexOf(BEGIN) + BEGIN.length
  if (process.env.UPDATE_GOLDEN === "1")
    writeFileSync(file, text.slice(0, from) + wanted + text.slice(text.indexOf(END)))
  else expect(text.slice(from, text.indexOf(END))).toBe(wanted)
})
