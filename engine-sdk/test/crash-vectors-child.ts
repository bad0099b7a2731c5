/**
 * Imports documents with vectors repeatedly until it is killed; prints each acknowledged import. Run only by
 * `crash-vectors.test.ts`.
 */
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suiteSchema } from "../src/testing/engine-suite.ts"
import { COUNT, DIMENSIONS, vectorOf } from "./crash-vectors.ts"

const [path, worker, round] = process.argv.slice(2)
const engine = await openEngine({ path: path!, worker: worker === "worker", approximateFrom: Infinity })
if (engine.describeCollection("t", "c") === undefined)
  await engine.createCollection(
    "t",
    suiteSchema("c", [
      suiteField("n", "int32"),
      suiteField("embedding", "float[]", { num_dim: DIMENSIONS, sort: false, store: false })
    ]),
    1
  )
process.stdout.write("ready\n")
for (let i = 0; ; i++) {
  const n = Number(round) * 1_000 + i
  const written = await engine.write(
    "t",
    "c",
    Array.from({ length: COUNT }, (_document, at) => putOf({ id: `m${at}`, n, embedding: vectorOf(at, n) }))
  )
  if (written.ok && written.value.every(({ result }) => result.ok)) process.stdout.write(`import ${n}\n`)
}
