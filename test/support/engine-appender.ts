/**
 * A child process that writes documents to a durable engine from several loops and writes every acknowledged id with
 * its number to the file `acknowledged`. Arguments: engine folder, that file, writes.
 */
import { openSync, writeSync } from "node:fs"
import { openEngine } from "../../engine-sdk/src/mod.ts"
import { putOf, suiteField, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"

const [path, acknowledgedPath, count] = process.argv.slice(2)
const acknowledged = openSync(acknowledgedPath!, "a")
const engine = await openEngine({ path: path! })
await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string"), suiteField("n", "int32")]), 1)
let made = 0
const writer = async (id: number): Promise<void> => {
  while (made < Number(count)) {
    const n = made++
    // New documents and newer versions of a few old ones, alone and in batches.
    const documents =
      n % 3 === 0
        ? [{ id: `hot${id}`, name: `word${n}`, n }]
        : Array.from({ length: 1 + (n % 4) }, (_, i) => ({ id: `d${n}-${i}`, name: `word${n}`, n }))
    const written = await engine.write(
      "t",
      "c",
      documents.map((document) => putOf(document))
    )
    if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error("a write was refused")
    writeSync(acknowledged, `${documents.map((document) => document.id).join(",")} ${n}\n`)
  }
}
await Promise.all(Array.from({ length: 4 }, (_, id) => writer(id)))
await engine.close()
