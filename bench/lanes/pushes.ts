/**
 * Question: how many pushed documents does a processor accept per second (signed, checked, mapped, durable in the log),
 * and how many become documents of the collection? Workload: batches of `batch` signed upserts from `connections`
 * clients in this process. Accepting is timed until the last response, applying until the last job is ready. Both run
 * at the same time in the program, as they do in production, so the processor time of accepting includes what was
 * applied meanwhile; `accepted_alone` is a connector without its collection, so that nothing is applied. `imported`:
 * the same documents through the engine's import, alone, in bodies of `IMPORT_LINES`. Excluded: TLS.
 */
import { createHmac } from "node:crypto"
import { machine, processorSeconds, report, round, rssMb } from "../harness/harness.ts"
import { startServer } from "../harness/program.ts"

export interface PushesOptions {
  readonly documents: number
  readonly batch: number
  readonly connections: number
  readonly out: string | undefined
}
const IMPORT_LINES = 10_000
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))
const documentOf = (i: number) => ({
  title: `Desk lamp ${i}`,
  brand: `Maker ${i % 40}`,
  price: 10 + (i % 90),
  tags: ["lamp", `room ${i % 7}`]
})
const bodyOf = (at: number, batch: number): string =>
  JSON.stringify({
    events: Array.from({ length: batch }, (_, k) => ({
      external_id: `lamp-${at * batch + k}`,
      version: at + 1,
      document: documentOf(at * batch + k)
    }))
  })
const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "price", type: "float" },
  { name: "tags", type: "string[]", facet: true }
]

export const benchPushes = async (options: PushesOptions): Promise<void> => {
  const server = await startServer()
  try {
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${server.base}${path}`, {
        method,
        headers: { "x-svc-api-key": server.full_key },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as any
    }
    await send("POST", "/collections", { name: "products", fields })
    const bodies = Array.from({ length: Math.ceil(options.documents / options.batch) }, (_, i) =>
      bodyOf(i, options.batch)
    )
    const accept = async (collection: string) => {
      const shop = { name: collection, collection, provider: "generic", sync_mode: "push" }
      const { id, secret } = await send("POST", "/connectors", shop)
      const jobs: Array<string> = []
      const used = processorSeconds(server.pid).process
      const began = performance.now()
      let next = 0
      const client = async () => {
        for (let at = next++; at < bodies.length; at = next++) {
          const time = String(Math.floor(Date.now() / 1_000))
          const signature = createHmac("sha256", secret).update(`${time}.${bodies[at]!}`).digest("hex")
          const response = await fetch(`${server.base}/connectors/${id}/webhook`, {
            method: "POST",
            headers: {
              "content-type": "application/json",
              "x-signature-timestamp": time,
              "x-signature": signature
            },
            body: bodies[at]!
          })
          if (response.status !== 202) throw new Error(`A push: ${response.status} ${await response.text()}`)
          jobs.push(((await response.json()) as { readonly job_id: string }).job_id)
        }
      }
      await Promise.all(Array.from({ length: options.connections }, client))
      const documents = bodies.length * options.batch
      const took_s = (performance.now() - began) / 1_000
      const processor_s = Math.max(0.01, processorSeconds(server.pid).process - used)
      const figures = { per_s: Math.round(documents / took_s), per_processor_s: Math.round(documents / processor_s) }
      return { jobs, began, used, documents, figures }
    }
    const imported = async (collection: string) => {
      await send("POST", "/collections", { name: collection, fields })
      const lines = Array.from({ length: bodies.length * options.batch }, (_, i) =>
        JSON.stringify({ id: `lamp-${i}`, ...documentOf(i) })
      )
      const began = performance.now()
      for (let at = 0; at < lines.length; at += IMPORT_LINES) {
        const response = await fetch(`${server.base}/collections/${collection}/documents/import?action=upsert`, {
          method: "POST",
          headers: { "x-svc-api-key": server.full_key },
          body: lines.slice(at, at + IMPORT_LINES).join("\n")
        })
        if ((await response.text()).includes('"success":false')) throw new Error("A line was not imported.")
      }
      return Math.round((lines.length * 1_000) / (performance.now() - began))
    }
    const alone = await accept("not_there")
    // A program's first import is slower because it compiles code, and so is the first application.
    await imported("warm")
    const { began, documents, figures, jobs, used } = await accept("products")
    // Documents that were still to be applied after the last push.
    const left = documents - ((await send("GET", "/collections/products")).num_documents as number)
    const ended = performance.now()
    const isReady = async (job: string) => (await send("GET", `/jobs/${job}`)).finished_at !== undefined
    for (const job of jobs) while (!(await isReady(job))) await pause(20)
    const applied_s = (performance.now() - began) / 1_000
    const drained_s = (performance.now() - ended) / 1_000
    const found = (await send("GET", "/collections/products")).num_documents as number
    if (found !== documents) throw new Error(`${found} of ${documents} documents are there.`)
    const imported_per_s = await imported("imported")
    report(
      "pushes",
      {
        machine: machine(),
        rss_mb: rssMb(server.pid),
        documents,
        batch: options.batch,
        accepted_alone: alone.figures,
        accepted_beside_applying: figures,
        imported_per_s,
        applied: {
          per_s: Math.round(documents / applied_s),
          per_processor_s: Math.round(documents / Math.max(0.01, processorSeconds(server.pid).process - used)),
          took_s: round(applied_s),
          alone: { documents: left, per_s: Math.round(left / drained_s) }
        }
      },
      options.out
    )
  } finally {
    await server.stop()
  }
}
