/** Writes to an engine until it is killed, and prints each acknowledged write. Run only by `crash.test.ts`. */
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

const [path, worker, round] = process.argv.slice(2)
const engine = await openEngine({ path, worker: worker === "worker" })
if (engine.describeCollection("t", "c") === undefined)
  await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string"), suiteField("n", "int32")]), 1)
process.stdout.write("ready\n")
for (let i = 0; ; i++) {
  const id = `r${round}-${i}`
  // Single writes, batches, updates of one document and deletes alternate.
  const written = await engine.write("t", "c", [
    putOf({ id, name: `name${id.replace("-", "x")}`, n: i }),
    putOf({ id: `r${round}-last`, name: "last", n: i }),
    ...(i > 5 ? [{ kind: "delete" as const, id: `r${round}-${i - 5}` }] : [])
  ])
  if (written.ok && written.value.every(({ result }) => result.ok)) process.stdout.write(`${i}\n`)
}
