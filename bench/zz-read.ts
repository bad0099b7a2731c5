import { createReadStream, createWriteStream, statSync } from "node:fs"
import { generateYml } from "../fixtures/feeds/yml.ts"
import { readerOf } from "../src/ingest/readers/readers.ts"
import { batchesOf } from "../src/ingest/feeds/batches.ts"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
const offers = Number(process.argv[2] ?? 100000)
const file = `/tmp/feeds-x/yml-${offers}.xml`
try {
  statSync(file)
} catch {
  await pipeline(Readable.from(generateYml({ seed: 1, offers })), createWriteStream(file))
}
const size = statSync(file).size
let records = 0,
  faults = 0,
  peak = 0
const began = performance.now(),
  cpu = process.cpuUsage()
for await (const batch of batchesOf(readerOf("yml")!(createReadStream(file, { highWaterMark: 262144 }), {}), {
  from: 0,
  progress: () => 0,
  state: {}
})) {
  records += batch.changes.length
  if (records % 100000 === 0) console.log(records, (process.memoryUsage().rss / 1e6) | 0)
  faults += batch.errors.length
  peak = Math.max(peak, process.memoryUsage().rss)
}
const s = (performance.now() - began) / 1000,
  c = process.cpuUsage(cpu)
console.log({
  size,
  records,
  faults,
  s,
  perS: Math.round(records / s),
  MBs: size / 1e6 / s,
  cpu_s: (c.user + c.system) / 1e6,
  rssMB: (peak / 1e6) | 0,
  heap: (process.memoryUsage().heapUsed / 1e6) | 0
})
