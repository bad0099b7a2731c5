/**
 * Question: how many deliveries per second reach receivers that respond quickly, and how long does an event take to
 * reach its receiver while another receiver hangs? Workload: keys are created over HTTP, each an event for every
 * endpoint. The receivers first refuse them permanently (410), then everything is recovered at the same time: one
 * endpoint alone, then the others together. Then events arrive at a fixed rate while one endpoint never responds. The
 * receivers run in this process, the program in its own. Excluded: TLS, name look-ups. Times count to the receiver's
 * last byte; recording continues after that and is reported as `recorded_per_s`.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { checksum, machine, percentiles, processorSeconds, report, rssMb } from "../harness/harness.ts"
import { startServer } from "../harness/program.ts"

export interface WebhooksOptions {
  readonly events: number
  readonly endpoints: number
  readonly seconds: number
  readonly rate: number
  readonly out: string | undefined
}

const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))
const until = async (what: string, holds: () => boolean | Promise<boolean>, ms = 120_000) => {
  for (const ends = performance.now() + ms; !(await holds()); await pause(5))
    if (performance.now() > ends) throw new Error(`Not within ${ms / 1_000} s: ${what}`)
}

const startReceivers = async () => {
  const arrived = new Map<string, { readonly id: string; readonly at: number; readonly description: string }>()
  let status = 410
  let count = 0
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      count++
      if (request.url === "/hang") return
      if (status === 200) {
        const { data, id } = JSON.parse(Buffer.concat(chunks).toString()) as {
          readonly id: string
          readonly data: { readonly description: string }
        }
        arrived.set(`${request.url} ${id}`, { id, at: performance.now(), description: data.description })
      }
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    count: () => count,
    answer: (next: number) => {
      status = next
    },
    stop: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

export const benchWebhooks = async (options: WebhooksOptions): Promise<void> => {
  const server = await startServer(["--allow-private-addresses"])
  const receivers = await startReceivers()
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
    const endpoint = async (path: string): Promise<string> =>
      (await send("POST", "/webhooks", { name: path, url: `${receivers.url}${path}`, events: ["api_key.created"] })).id
    const newKey = (description: string) => send("POST", "/keys", { description, scope: "search" })
    const ids: Array<string> = []
    for (let i = 0; i < options.endpoints; i++) ids.push(await endpoint(`/${i}`))
    let next = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (next < options.events) await newKey(`k${next++}`)
      })
    )
    await until("every first attempt", () => receivers.count() >= options.events * options.endpoints)
    // Waits because recovery would not find an event that is still being recorded.
    const isRecorded = async (id: string, status: string) =>
      (await send("GET", `/webhooks/${id}/deliveries?limit=250`)).data.every(
        (delivery: { readonly status: string }) => delivery.status === status
      )
    for (const id of ids) await until("recorded", () => isRecorded(id, "failed"))
    await pause(500)

    receivers.answer(200)
    const recover = async (recovered: ReadonlyArray<string>) => {
      const before = receivers.arrived.size
      const used = processorSeconds(server.pid).process
      const began = performance.now()
      const expected = (
        await Promise.all(
          recovered.map(async (id) => (await send("POST", `/webhooks/${id}/recover`, { since: 0 })).recovered as number)
        )
      ).reduce((sum, count) => sum + count, 0)
      await until("recovered", () => receivers.arrived.size >= before + expected)
      const last = Math.max(...[...receivers.arrived.values()].map(({ at }) => at))
      for (const id of recovered) await until("recorded", () => isRecorded(id, "success"))
      return {
        expected,
        per_s: Math.round(expected / ((last - began) / 1_000)),
        recorded_per_s: Math.round(expected / ((performance.now() - began) / 1_000)),
        per_processor_s: Math.round(expected / Math.max(0.01, processorSeconds(server.pid).process - used))
      }
    }
    const one = await recover(ids.slice(0, 1))
    const many = await recover(ids.slice(1))
    const sum = checksum([...receivers.arrived.values()].map(({ description }) => description).sort())

    await endpoint("/hang")
    const createdAt = new Map<string, number>()
    const latencies: Array<number> = []
    for (let i = 0, began = performance.now(); i < options.seconds * options.rate; i++) {
      await pause(Math.max(0, began + (i * 1_000) / options.rate - performance.now()))
      const description = `l${i}`
      await newKey(description)
      createdAt.set(description, performance.now())
    }
    const quick = () => [...receivers.arrived.values()].filter(({ description }) => createdAt.has(description))
    await until("every event at every receiver", () => quick().length >= createdAt.size * options.endpoints)
    for (const { at, description } of quick()) latencies.push(Math.max(0, at - (createdAt.get(description) ?? at)))
    report(
      "webhooks",
      {
        machine: machine(),
        rss_mb: rssMb(server.pid),
        endpoints: options.endpoints,
        deliveries: one.expected + many.expected,
        checksum: sum,
        one_endpoint: one,
        many_endpoints: many,
        beside_a_hanging_endpoint: { events_per_s: options.rate, ...percentiles(latencies) }
      },
      options.out
    )
  } finally {
    receivers.stop()
    await server.stop()
  }
}
