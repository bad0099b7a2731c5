/** Spans of a running program, as an OTLP collector receives them over HTTP. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { launchPrepared } from "../support/launched.ts"

interface OtlpSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>
}
interface OtlpBody {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<OtlpSpan> }>
  }>
}
/** Collects exported traces, as text and as spans. */
const startCollector = async () => {
  const texts: Array<string> = [],
    paths = new Set<string>()
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      paths.add(request.url ?? "")
      texts.push(Buffer.concat(chunks).toString("utf8"))
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    text: () => texts.join("\n"),
    spans: () =>
      texts.flatMap((text) =>
        (JSON.parse(text) as OtlpBody).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans)
        )
      ),
    stop: () => new Promise((settle) => server.close(settle))
  }
}
const said = ({ attributes }: OtlpSpan, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0]

/** Runs a search and an event; returns the program's answers. */
const use = async (folder: string, variables: Readonly<Record<string, string>>) => {
  const program = await launchPrepared(folder, ["--no-demo"], undefined, variables)
  const key = program.ready.full_key!
  const send = async (path: string, body?: string) =>
    (
      await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { "x-svc-api-key": key, traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
        ...(body === undefined ? {} : { body })
      })
    ).status
  const statuses = [
    await send("/collections", '{"name":"books","fields":[{"name":"title","type":"string"}]}'),
    await send("/collections/books/documents", '{"id":"1","title":"A secret garden"}'),
    await send("/collections/books/documents/search?q=hiddenwords&query_by=title"),
    await send(
      "/events",
      '{"events":[{"type":"click","collection":"books","document_id":"1","session_id":"quietvisitor"}]}'
    )
  ]
  return { key, program, statuses }
}

it("shows the stages of a search and the way of a batch to Postgres, and no text, key or visitor", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-traces-"))
  const collector = await startCollector()
  try {
    const { key, program, statuses } = await use(join(folder, "data"), {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
      OTEL_BSP_SCHEDULE_DELAY: "200"
    })
    expect(statuses).toEqual([201, 201, 200, 200])
    const named = (name: string) => collector.spans().filter((span) => span.name === name)
    await expect.poll(() => named("searchCollection").length, { timeout: 60_000 }).toBe(1)
    const [search] = named("searchCollection")
    expect(search).not.toHaveProperty("parentSpanId", expect.stringMatching(/./))
    // A client without credentials cannot choose the trace.
    expect(search!.traceId).not.toBe("0af7651916cd43dd8448eb211c80319c")
    expect(said(search!, "http.response.status_code")).toBe(200)
    expect(said(search!, "dowser.organization_id")).toBe(program.ready.organization_id)
    const stages = collector.spans().filter(({ parentSpanId }) => parentSpanId === search!.spanId)
    expect(stages.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["plan", "rules, personalization", "engine", "account, write"])
    )
    const place = /behaviour\.events\.v1\/\d+:(\d+)/
    const stored = () => named("storeEvents").find((span) => place.test(String(said(span, "dowser.log.places"))))
    await expect.poll(stored, { timeout: 60_000 }).toBeDefined()
    const offset = Number(place.exec(String(said(stored()!, "dowser.log.places")))![1])
    const ranges = () =>
      named("flush").filter((span) => {
        const [, from, until] =
          /behaviour\.events\.v1\/\d+:(\d+)-(\d+)/.exec(String(said(span, "dowser.log.places"))) ?? []
        return from !== undefined && Number(from) <= offset && offset < Number(until)
      })
    await expect.poll(() => ranges().length, { timeout: 60_000 }).toBeGreaterThan(0)
    const [flush] = ranges()
    const below = (parent: OtlpSpan): ReadonlyArray<OtlpSpan> =>
      collector
        .spans()
        .filter(({ parentSpanId }) => parentSpanId === parent.spanId)
        .flatMap((child) => [child, ...below(child)])
    expect(below(flush!).map(({ name }) => name)).toContain("sql.transaction")
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
    expect([...collector.paths]).toEqual(["/v1/traces"])
    for (const text of [key, "hiddenwords", "secret garden", "quietvisitor"])
      expect(collector.text()).not.toContain(text)
  } finally {
    await collector.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

it("sends nothing for requests outside the sampled share", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-traces-"))
  const collector = await startCollector()
  try {
    const { program, statuses } = await use(join(folder, "data"), {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_TRACES_SAMPLER_ARG: "0"
    })
    expect(statuses).toEqual([201, 201, 200, 200])
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
    expect(collector.text()).toBe("")
  } finally {
    await collector.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
