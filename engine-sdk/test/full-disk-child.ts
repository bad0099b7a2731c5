/**
 * A program whose files cannot grow for a while; prints the results of its writes, and what it finds afterwards, as
 * JSON on one line.
 */
import { execFileSync } from "node:child_process"
import { statSync } from "node:fs"
import { join } from "node:path"
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const [path, worker] = process.argv.slice(2)
const allow = (bytes: string): void => {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:`])
}
const engine = await openEngine({ path, worker: worker === "worker" })
const put = async (from: number, count: number): Promise<unknown> => {
  const written = await engine.write(
    "t",
    "c",
    Array.from({ length: count }, (_document, i) => putOf({ id: `d${from + i}`, name: `word${i} `.repeat(50) }))
  )
  return written.ok ? written.value.every(({ result }) => result.ok) : written.error.kind
}
const found = async (): Promise<unknown> => {
  const [answer] = await engine.search("t", [suitePlan("c")])
  return answer.ok ? answer.value.found : answer.error.kind
}
await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string")]), 1)
const report: Record<string, unknown> = { before: [await put(0, 100), await found()] }
allow(String(statSync(join(path, "documents.mdb")).size + 8_192))
report.large = [await put(1_000, 2_000), await found()]
report.small = [await put(5_000, 400), await found()]
allow("unlimited")
// Longer than the interval between two probes of the disk.
await new Promise((resolve) => setTimeout(resolve, 200))
report.after = [await put(9_000, 1), await put(9_001, 1_000), await found()]
report.health = engine.health().ok
await engine.close()
const again = await openEngine({ path })
const [answer] = await again.search("t", [suitePlan("c")])
report.again = [answer.ok && answer.value.found, again.describeCollection("t", "c")?.num_documents]
await again.close()
process.stdout.write(`${JSON.stringify(report)}\n`)
