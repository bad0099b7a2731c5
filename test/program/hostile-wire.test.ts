/**
 * Requests that no ordinary client sends, over raw sockets to a running program: framing that two parsers read
 * differently, bodies that are larger than they look, deceptive addresses and headers, senders that never finish.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createGzip, gzipSync } from "node:zlib"
import * as zlib from "node:zlib"
import { Readable } from "node:stream"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { owedByAll } from "../support/fuzz/described.ts"
import { bombs, pathTricks, zipBombs } from "../support/fuzz/hostile.ts"
import { makeWorld, type Organization, type World } from "../support/fuzz/world.ts"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { chunked, type RawAnswer, RawConnection, requestBytes } from "../support/raw-http.ts"

let folder: string
let program: Launched
let world: World
let shop: Organization
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-wire-"))
  program = await launchPrepared(join(folder, "data"))
  world = await makeWorld(program.port, readFileSync(join(folder, "data", "operator.token"), "utf8").trim())
  shop = await world.furnish("Shop")
})
afterAll(async () => {
  program.signal("SIGTERM")
  await program.exited
  rmSync(folder, { recursive: true, force: true })
})

const pagesMb = () =>
  Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid()}/status`, "utf8"))?.[1]) / 1024
const key = () => [["x-svc-api-key", shop.full_key]] as const
const head = (line: string, ...more: ReadonlyArray<string>) =>
  [`${line} HTTP/1.1`, "host: localhost", `x-svc-api-key: ${shop.full_key}`, ...more, "", ""].join("\r\n")
/** Everything received on a connection of its own, until it is closed or stays quiet after the last answer. */
const raw = async (
  text: string | Buffer,
  options: { readonly count?: number; readonly isHead?: boolean; readonly timeout_ms?: number } = {}
): Promise<ReadonlyArray<RawAnswer>> => {
  const connection = new RawConnection(program.port)
  try {
    return await connection.exchange(text, options)
  } finally {
    connection.close()
  }
}
/** Everything received until the other side closes: for requests after which nothing more may be answered. */
const untilClosed = (bytes: string | Buffer) =>
  new Promise<string>((settle, reject) => {
    let text = ""
    const socket = connect(program.port, "127.0.0.1", () => socket.write(bytes))
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1")
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(timer)
      settle(text)
    })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`still open after: ${text}`))
    }, 10_000)
  })
const json = ({ text }: RawAnswer) => JSON.parse(text) as Record<string, any>

describe("framing", () => {
  const smuggling = () => head("DELETE /v1/collections/goods")
  for (const [name, bytes] of [
    [
      "both a length and chunks",
      () => head("POST /v1/keys", "content-length: 4", "transfer-encoding: chunked") + `0\r\n\r\n${smuggling()}`
    ],
    ["two lengths", () => head("POST /v1/keys", "content-length: 2", "content-length: 3") + `{} ${smuggling()}`],
    ["a list of lengths", () => head("POST /v1/keys", "content-length: 2, 3") + `{} ${smuggling()}`],
    ["a negative length", () => head("POST /v1/keys", "content-length: -1") + smuggling()],
    ["a length with a sign", () => head("POST /v1/keys", "content-length: +2") + `{}${smuggling()}`],
    ["a length in hex", () => head("POST /v1/keys", "content-length: 0x2") + `{}${smuggling()}`],
    ["a length beyond numbers", () => head("POST /v1/keys", "content-length: 99999999999999999999") + smuggling()],
    [
      "an unknown transfer encoding",
      () => head("POST /v1/keys", "transfer-encoding: xchunked") + `0\r\n\r\n${smuggling()}`
    ],
    [
      "chunked before another encoding",
      () => head("POST /v1/keys", "transfer-encoding: chunked, identity") + `0\r\n\r\n${smuggling()}`
    ],
    [
      "an invalid chunk size",
      () => head("POST /v1/keys", "transfer-encoding: chunked") + `zz\r\n{}\r\n0\r\n\r\n${smuggling()}`
    ],
    ["a folded header", () => head("GET /v1/keys", "x-a: b\r\n c: d") + smuggling()],
    ["a space before a colon", () => head("POST /v1/keys", "content-length : 2") + `{}${smuggling()}`],
    ["bare line feeds", () => head("GET /v1/keys").replaceAll("\r\n", "\n") + smuggling()],
    ["NUL in a header", () => head("GET /v1/keys", "x-a: b\u0000c") + smuggling()],
    ["bytes that are no ASCII in the target", () => head("GET /v1/keys\u00e4") + smuggling()],
    ["an unknown method", () => head("STEAL /v1/keys") + smuggling()],
    ["another protocol", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + smuggling()],
    ["a head of 70 kB", () => head("GET /v1/keys", `x-a: ${"a".repeat(70_000)}`)],
    ["5,000 headers", () => head("GET /v1/keys", ...Array.from({ length: 5_000 }, (_, i) => `x-${i}: ${i}`))]
  ] as const) {
    it(`refuses ${name} once, closes, and runs nothing that follows`, async () => {
      const text = await untilClosed(bytes())
      const answers = text.split("HTTP/1.1 ").slice(1)
      // A reset may arrive before the answer to a head that is still being sent.
      if (answers.length === 0) expect(bytes().length).toBeGreaterThan(60_000)
      else {
        expect(answers[0]).toMatch(/^(400|431) /)
        expect(answers).toHaveLength(1)
        expect(text).toMatch(/x-request-id: req_/)
        expect(text).toContain("access-control-allow-origin: *")
        expect(text).toMatch(/\{"message":"[^"]+"\}$/)
      }
      expect((await raw(requestBytes("GET", "/v1/collections/goods", key())))[0]!.status).toBe(200)
    })
  }
  it("accepts chunks of any size, and nothing from trailers", async () => {
    const body = Buffer.from(JSON.stringify({ description: "chunks", scope: "search" }))
    const [made] = await raw(
      requestBytes(
        "POST",
        "/v1/keys",
        [...key(), ["transfer-encoding", "chunked"]],
        chunked(body, 1, "x-svc-api-key: other\r\n")
      )
    )
    expect(made!.status).toBe(201)
    const [denied] = await raw(
      requestBytes(
        "POST",
        "/v1/keys",
        [["transfer-encoding", "chunked"]],
        chunked(body, 5, `x-svc-api-key: ${shop.full_key}\r\n`)
      )
    )
    expect(denied!.status).toBe(401)
  })
  it("answers a pipeline in order, and a body of GET is not the next request", async () => {
    const answers = await raw(
      Array.from({ length: 40 }, (_, i) => head(`GET /v1/collections/${i % 2 === 0 ? "goods" : "nowhere"}`)).join(""),
      { count: 40 }
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 200 : 404)))
    const inner = head("DELETE /v1/collections/spare")
    const [first, second] = await raw(
      head("GET /v1/aliases", `content-length: ${inner.length}`) + inner + head("GET /v1/collections/spare"),
      { count: 2 }
    )
    expect([first!.status, second!.status, json(second!).name]).toEqual([200, 200, "spare"])
  })
  it("gives upgrades, expectations, requests without a host and HEAD the headers of every answer", async () => {
    for (const [bytes, status] of [
      [
        head(
          "GET /v1/collections",
          "connection: upgrade",
          "upgrade: websocket",
          "sec-websocket-version: 13",
          "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="
        ),
        200
      ],
      [head("GET /v1/nowhere", "connection: upgrade", "upgrade: h2c"), 404],
      [head("POST /v1/keys", "expect: 100-continue", "content-length: 2") + "{}", 400],
      [head("POST /v1/keys", "expect: a-pony", "content-length: 2") + "{}", 417],
      [`GET /v1/collections HTTP/1.1\r\nx-svc-api-key: ${shop.full_key}\r\n\r\n`, 400],
      [head("TRACE /v1/collections"), 404],
      [head("OPTIONS *"), 204]
    ] as const) {
      const [answer] = await raw(bytes)
      expect([answer!.status, owedByAll(answer!, folder)], bytes.slice(0, 200)).toEqual([status, undefined])
    }
    const [answer] = await raw(head("HEAD /v1/collections"), { isHead: true })
    expect([answer!.status, answer!.text, owedByAll(answer!, folder)]).toEqual([200, "", undefined])
  })
})

describe("addresses", () => {
  it("cannot be escaped: every trick in every place leads to a refusal in the plane's shape", async () => {
    const connection = new RawConnection(program.port)
    for (const trick of pathTricks) {
      for (const path of [
        `/v1/collections/${trick}`,
        `/v1/collections/goods/documents/${trick}`,
        `/v1/keys/${trick}`,
        `/v1/synonym_sets/one/items/${trick}`,
        `/v1/${trick}`,
        `/api/v1/${trick}`,
        `/console/v1/organizations/${trick}/keys`,
        `/${trick}/v1/keys`
      ]) {
        const [answer] = await connection.exchange(requestBytes("GET", path, key()))
        expect(owedByAll(answer!, folder), `${path} ${answer!.status} ${answer!.text}`).toBeUndefined()
        expect([200, 302, 400, 401, 404], path).toContain(answer!.status)
        if (/%(?![0-9a-f]{2})|%c0|%ff|%ed%a0/i.test(path))
          expect(answer!.status, path).toBe(
            path.startsWith("/api") || path.startsWith("/console") ? answer!.status : 404
          )
        if (answer!.status === 200)
          expect(
            ["goods", "Shop"].some((name) => answer!.text.includes(name)) || path.startsWith("/v1/."),
            `${path} ${answer!.text}`
          ).toBe(true)
      }
    }
    connection.close()
  })
  it("that cannot be decoded are answered like unknown ones: 401 without a key", async () => {
    const [answer] = await raw(requestBytes("GET", "/v1/collections/%zz", []))
    expect([answer!.status, json(answer!).code]).toEqual([401, "UNAUTHORIZED"])
    const [gateway] = await raw(requestBytes("GET", "/api/v1/%zz", []))
    expect([gateway!.status, json(gateway!).error]).toEqual([401, "missing_bearer_token"])
  })
  it("have one spelling, so that a proxy's rule on a path cannot be bypassed", async () => {
    for (const path of [
      "//v1/collections",
      "/v1//collections",
      "/V1/collections",
      "/v1/Collections",
      "//console/v1/organizations",
      "/Console/v1/organizations",
      "/v1/collections;x=1"
    ]) {
      expect((await raw(requestBytes("GET", path, key())))[0]!.status, path).toBe(404)
    }
  })
  it("refuse NUL by the parameter's name, in the path, the query and the body", async () => {
    const [path] = await raw(requestBytes("GET", "/v1/webhooks/a%00b", key()))
    expect([path!.status, json(path!).data.issues[0].path]).toEqual([400, "webhookId"])
    const [query] = await raw(requestBytes("GET", "/v1/jobs?cursor=a%00b", key()))
    expect([query!.status, json(query!).data.issues[0].path]).toEqual([400, "cursor"])
    for (const text of ["\\u0000", "\\ud800"]) {
      const [body] = await raw(
        requestBytes(
          "POST",
          "/v1/keys",
          key(),
          `{"description":"x","scope":"search","filter_by":{"goods":"title:${text}"}}`
        )
      )
      expect([body!.status, json(body!).data.issues[0].path]).toEqual([400, "filter_by.goods"])
    }
  })
})

describe("prototypes", () => {
  it("are not reached by keys of bodies, queries, headers and signed parameters", async () => {
    const poison =
      '{"__proto__":{"scope":"full","polluted":true},"constructor":{"prototype":{"polluted":true}},"description":"x","scope":"search"}'
    expect((await raw(requestBytes("POST", "/v1/keys", key(), poison)))[0]!.status).toBe(400)
    await raw(
      requestBytes(
        "GET",
        "/v1/collections/goods/documents/search?q=*&__proto__[polluted]=1&__proto__=x&constructor.prototype.polluted=1",
        [...key(), ["__proto__", "x"], ["constructor", "x"]]
      )
    )
    const [multi] = await raw(
      requestBytes(
        "POST",
        "/v1/multi_search?__proto__=1",
        key(),
        '{"searches":[{"__proto__":{"filter_by":"stock:>1"},"collection":"goods","q":"*"}]}'
      )
    )
    expect([multi!.status, json(multi!)]).toEqual([400, { message: "One or more search parameters are malformed." }])
    const [document] = await raw(
      requestBytes(
        "POST",
        "/v1/collections/goods/documents?action=upsert",
        key(),
        '{"id":"poison","title":"p","stock":1,"__proto__":{"polluted":true},"constructor":1}'
      )
    )
    expect(document!.status).toBe(201)
    expect((await raw(requestBytes("GET", "/v1/collections/goods/documents/poison", key())))[0]!.text).toContain(
      '"constructor":1'
    )
    await raw(requestBytes("DELETE", "/v1/collections/goods/documents/poison", key()))
    const [answer] = await raw(requestBytes("GET", "/v1/keys", key()))
    expect(answer!.text).not.toContain("polluted")
  })
})

describe("bombs", () => {
  it("of compression are cut off at the bound of the body, whatever they would become", async () => {
    const connection = new RawConnection(program.port)
    const exchange = async (bytes: Buffer, encoding: string) => {
      const [answer] = await connection.exchange(
        requestBytes("POST", "/v1/keys", [...key(), ["content-encoding", encoding]], bytes),
        { timeout_ms: 60_000 }
      )
      expect([answer!.status, json(answer!).data.issues[0].path], encoding).toEqual([400, "body"])
    }
    for (const { bytes, headers } of zipBombs) await exchange(bytes, headers[0]![1])
    const before = pagesMb()
    // A thousand megabytes of zeros each.
    const gigabyte = async (transform: NodeJS.ReadWriteStream) => {
      const parts: Array<Buffer> = []
      const zeros = Buffer.alloc(1_000_000)
      for await (const part of Readable.from(
        (function* () {
          for (let i = 0; i < 1_000; i++) yield zeros
        })()
      ).pipe(transform) as unknown as AsyncIterable<Buffer>)
        parts.push(part)
      return Buffer.concat(parts)
    }
    const bodies: Array<readonly [string, Buffer]> = [
      ["gzip", await gigabyte(createGzip())],
      ["br", await gigabyte(zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }))],
      ["deflate", await gigabyte(zlib.createDeflate())]
    ]
    const zstd = (zlib as { readonly createZstdCompress?: () => NodeJS.ReadWriteStream }).createZstdCompress
    if (zstd !== undefined) bodies.push(["zstd", await gigabyte(zstd())])
    for (const [encoding, bytes] of bodies) for (let i = 0; i < 3; i++) await exchange(bytes, encoding)
    expect(pagesMb() - before).toBeLessThan(250)
    connection.close()
  })
  it("that end early or do not match their encoding are the sender's fault and affect nobody else", async () => {
    const connection = new RawConnection(program.port)
    const plain = Buffer.from(JSON.stringify({ description: "x", scope: "search" }))
    const lines = Buffer.from('{"id":"l","title":"l","stock":1}\n'.repeat(50))
    const event = Buffer.from(
      '{"type":"search","q":"title","collection":"goods","session_id":"s","results_found":1}\n'.repeat(5)
    )
    const { zstdCompressSync } = zlib as { readonly zstdCompressSync?: (bytes: Buffer) => Buffer }
    const encoders: ReadonlyArray<readonly [string, (bytes: Buffer) => Buffer]> = [
      ["gzip", gzipSync],
      ["br", zlib.brotliCompressSync],
      ["deflate", zlib.deflateSync],
      ...(zstdCompressSync === undefined ? [] : [["zstd", zstdCompressSync] as const])
    ]
    for (const path of [
      "/v1/keys",
      "/v1/collections/spare/documents/import",
      "/v1/events",
      "/v1/collections/nowhere/documents/import"
    ]) {
      const source = path.includes("import") ? lines : path === "/v1/events" ? event : plain
      for (const [encoding, encode] of encoders) {
        const whole = encode(source)
        // The last two cuts would lose only the end of the text, or only the mark of its end.
        for (const cut of [0, 1, 9, 12, 20, whole.length - 4, whole.length - 1, undefined]) {
          const bytes = cut === undefined ? Buffer.concat([whole, Buffer.from("junk")]) : whole.subarray(0, cut)
          const [answer] = await connection.exchange(
            requestBytes(
              "POST",
              path,
              [
                ...key(),
                ["content-encoding", encoding],
                ...(path === "/v1/events" ? [["content-type", "application/x-ndjson"] as const] : [])
              ],
              bytes
            )
          )
          const what = `${path} ${encoding} ${cut}: ${answer!.status} ${answer!.text.slice(0, 300)}`
          expect(owedByAll(answer!, folder), what).toBeUndefined()
          if (path.includes("spare"))
            expect(
              answer!.text
                .trimEnd()
                .split("\n")
                .map((line) => JSON.parse(line) as unknown)
                .at(-1),
              what
            ).toMatchObject({ code: 400, success: false, error: expect.stringContaining("The body could not be read") })
          else expect(answer!.status, what).toBe(path.includes("nowhere") ? 404 : 400)
        }
      }
    }
    connection.close()
    expect((await raw(requestBytes("GET", "/v1/collections", key())))[0]!.status).toBe(200)
  })
  it("of filters, sorts, facets and queries are answered while other requests are", async () => {
    const sizes = [500, 4_000]
    for (const size of sizes) {
      for (const bomb of bombs) {
        const text = bomb(size)
        for (const name of [
          "filter_by",
          "sort_by",
          "facet_by",
          "q",
          "group_by",
          "include_fields",
          "pinned_hits",
          "vector_query"
        ]) {
          const searches = [{ collection: "goods", q: "title", query_by: "title", [name]: text }]
          const [bombed, other] = await Promise.all([
            raw(requestBytes("POST", "/v1/multi_search", key(), JSON.stringify({ searches })), { timeout_ms: 20_000 }),
            raw(requestBytes("GET", "/v1/collections/goods", key()), { timeout_ms: 20_000 })
          ])
          expect(
            owedByAll(bombed[0]!, folder),
            `${name}=${text.slice(0, 60)} ${bombed[0]!.text.slice(0, 300)}`
          ).toBeUndefined()
          expect([200, 400], `${name}=${text.slice(0, 60)} ${bombed[0]!.text.slice(0, 300)}`).toContain(
            bombed[0]!.status
          )
          expect(other[0]!.status).toBe(200)
        }
      }
    }
    const [many] = await raw(
      requestBytes(
        "POST",
        "/v1/multi_search",
        key(),
        JSON.stringify({ searches: Array.from({ length: 5_000 }, () => ({ collection: "goods", q: "*" })) })
      )
    )
    expect(many!.status).toBe(400)
  })
  it("of lines are bounded: one line of 30 MB, and unfinished lines, take no more memory than a line may", async () => {
    const before = pagesMb()
    const [answer] = await raw(
      requestBytes(
        "POST",
        "/v1/collections/spare/documents/import",
        key(),
        `{"id":"x","title":"${"x".repeat(30_000_000)}"}`
      ),
      { timeout_ms: 60_000 }
    )
    expect(answer!.status === 400 || answer!.text.includes('"success":false'), answer!.text.slice(0, 200)).toBe(true)
    expect(pagesMb() - before).toBeLessThan(250)
  })
})

describe("senders that never finish", () => {
  it("hold nothing that others need: nine hundred open heads and bodies, and the rest is answered", async () => {
    // One address may open a thousand.
    const sockets = Array.from({ length: 900 }, (_, i) => {
      const socket = connect(program.port, "127.0.0.1")
      socket.on("error", () => {})
      socket.write(
        i % 2 === 0
          ? "GET /v1/collections HTTP/1.1\r\nhost: a\r\nx-a: "
          : `${head("POST /v1/keys", "content-length: 1000")}{"descr`
      )
      return socket
    })
    const [answer] = await raw(requestBytes("GET", "/v1/collections/goods", key()))
    expect(answer!.status).toBe(200)
    for (const socket of sockets) socket.destroy()
    expect((await raw(requestBytes("GET", "/v1/collections/goods", key())))[0]!.status).toBe(200)
  })
  it("that disconnect in the middle of a body, compressed or not, leave nothing behind", async () => {
    for (let i = 0; i < 200; i++) {
      await new Promise<void>((settle) => {
        const socket = connect(program.port, "127.0.0.1", () => {
          socket.write(
            Buffer.concat([
              Buffer.from(
                head(
                  `POST ${i % 2 === 0 ? "/v1/keys" : "/v1/collections/spare/documents/import"}`,
                  ...(i % 4 < 2 ? ["content-encoding: gzip"] : []),
                  "content-length: 100000"
                )
              ),
              gzipSync(Buffer.alloc(500, 32))
            ]),
            () => {
              socket.destroy()
              settle()
            }
          )
        })
        socket.on("error", () => settle())
      })
    }
    const [answer] = await raw(requestBytes("GET", "/v1/collections/goods", key()))
    expect(answer!.status).toBe(200)
  })
})
