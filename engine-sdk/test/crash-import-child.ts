/**
 * Imports repeatedly, with single writes in between, until it is killed; prints each acknowledged import and single
 * write. Run only by `crash.test.ts`.
 */
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

const [path, worker, round] = process.argv.slice(2)
const engine = await openEngine({ path, worker: worker === "worker" })
if (engine.describeCollection("t", "c") === undefined)
  await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string"), suiteField("n", "int32")]), 1)
process.stdout.write("ready\n")
const importing = async (): Promise<void> => {
  for (let i = 0; ; i++) {
    const written = await engine.write(
      "t",
      "c",
      Array.from({ length: 3_000 }, (_document, at) => putOf({ id: `m${at}`, name: `imported${round}x${i}`, n: i }))
    )
    if (written.ok && written.value.every(({ result }) => result.ok)) process.stdout.write(`import ${i}\n`)
  }
}
const singles = async (): Promise<void> => {
  for (let i = 0; ; i++) {
    // One id that only single writes use, and one that the import writes as well.
    const written = await engine.write("t", "c", [
      putOf({ id: `s${round}-${i % 50}`, name: `single${round}x${i}`, n: i }),
      putOf({ id: `m${(i * 37) % 3_000}`, name: `beside${round}x${i}`, n: i })
    ])
    if (written.ok && written.value.every(({ result }) => result.ok)) process.stdout.write(`single ${i}\n`)
  }
}
await Promise.all([importing(), singles()])
