// The stock tus client as a Node program: under Deno 2.9 a request whose connection breaks after its body was sent
// never fails, so the client there waits forever. Arguments: endpoint, key, file. Prints the outcome.
import { readFileSync } from "node:fs"
import * as tus from "tus-js-client"

const [endpoint, key, file] = process.argv.slice(2)
let retried = 0
const upload = new tus.Upload(readFileSync(file), {
  endpoint,
  headers: { "x-svc-api-key": key },
  metadata: { filename: "goods.jsonl" },
  retryDelays: [50, 100, 200, 400, 800, 1_600, 3_200],
  onShouldRetry: () => {
    retried++
    return true
  },
  onError: (error) => {
    process.stdout.write(JSON.stringify({ error: String(error) }))
    process.exit(1)
  },
  onSuccess: ({ lastResponse }) => {
    process.stdout.write(JSON.stringify({ retried, job_id: lastResponse.getHeader("X-Ingest-Job") }))
    process.exit(0)
  }
})
upload.start()
