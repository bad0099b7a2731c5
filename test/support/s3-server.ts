/**
 * A server of the part of the S3 API that we use, as its public documentation describes it: path style, one bucket,
 * objects in memory. It verifies the signature (version 4, in `Authorization`) with its own implementation, and refuses
 * with S3's codes.
 */
import { createHash, createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const BUCKET = "dowser-test"
const SECRET = "a secret of the test"
const ACCESS_KEY = "TESTKEY"
const REGION = "eu-test-1"
const SKEW_MS = 15 * 60_000

const sha256 = (text: string | Buffer) => createHash("sha256").update(text).digest("hex")
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** The code of the refusal; undefined if the request is signed correctly. */
const unsigned = ({ headers, method, url }: IncomingMessage): string | undefined => {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? ""
    )
  if (given === null) return "AccessDenied"
  const [, key, day, region, names, signature] = given as unknown as [string, string, string, string, string, string]
  const date = String(headers["x-amz-date"])
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  if (key !== ACCESS_KEY || region !== REGION) return "InvalidAccessKeyId"
  if (!(Math.abs(Date.now() - at) < SKEW_MS) || !date.startsWith(day)) return "RequestTimeTooSkewed"
  const signed = names.split(";")
  if (!signed.includes("host") || !signed.includes("x-amz-content-sha256")) return "AccessDenied"
  const { pathname, searchParams } = new URL(url!, "http://host")
  const canonical = [
    method,
    decodeURIComponent(pathname).split("/").map(encoded).join("/"),
    [...searchParams]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .sort()
      .join("&"),
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replace(/\s+/g, " ")}`),
    "",
    names,
    headers["x-amz-content-sha256"]
  ].join("\n")
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n")
  const signing = hmac(hmac(hmac(hmac(`AWS4${SECRET}`, day), region), "s3"), "aws4_request")
  return hmac(signing, text).toString("hex") === signature ? undefined : "SignatureDoesNotMatch"
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
const listed = (objects: ReadonlyMap<string, Buffer>, query: URLSearchParams): string => {
  const prefix = query.get("prefix") ?? "",
    delimiter = query.get("delimiter"),
    after = query.get("start-after") ?? ""
  const found = new Map<string, string>()
  for (const key of [...objects.keys()].sort()) {
    if (!key.startsWith(prefix) || key <= after) continue
    const cut = delimiter === null ? -1 : key.indexOf(delimiter, prefix.length)
    if (cut < 0)
      found.set(key, `<Contents><Key>${escaped(key)}</Key><Size>${objects.get(key)!.length}</Size></Contents>`)
    else
      found.set(
        key.slice(0, cut + 1),
        `<CommonPrefixes><Prefix>${escaped(key.slice(0, cut + 1))}</Prefix></CommonPrefixes>`
      )
    if (found.size >= Number(query.get("max-keys") ?? 1_000)) break
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${BUCKET}</Name>${[...found.values()].join("")}</ListBucketResult>`
}

/** Answers refusals before it reads a body, as servers may. */
class Bucket {
  readonly objects = new Map<string, Buffer>()
  /** How many of the next requests are answered with 503. */ failing = 0
  readonly seen: Array<string> = []

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, "http://host")
    this.seen.push(`${request.method} ${pathname}`)
    const refuse = (status: number, code: string) =>
      void response.writeHead(status, { "content-type": "application/xml" }).end(`<Error><Code>${code}</Code></Error>`)
    if (this.failing > 0) {
      this.failing--
      return refuse(503, "SlowDown")
    }
    const code = unsigned(request)
    if (code !== undefined) return refuse(403, code)
    const [, bucket, ...rest] = decodeURIComponent(pathname).split("/")
    const key = rest.join("/")
    if (bucket !== BUCKET) return refuse(404, "NoSuchBucket")
    if (key === "") return void response.writeHead(200).end(listed(this.objects, searchParams))
    if (request.method === "PUT") return this.#put(request, key, response, refuse)
    if (request.method === "DELETE") {
      this.objects.delete(key)
      return void response.writeHead(204).end()
    }
    const object = this.objects.get(key)
    if (object === undefined) return refuse(404, "NoSuchKey")
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "")
    if (range === null) return void response.writeHead(200, { "content-length": object.length }).end(object)
    response.writeHead(206).end(object.subarray(Number(range[1]), Number(range[2]) + 1))
  }
  async #put(
    request: IncomingMessage,
    key: string,
    response: ServerResponse,
    refuse: (status: number, code: string) => void
  ): Promise<void> {
    if (request.headers["content-length"] === undefined) return refuse(411, "MissingContentLength")
    const pieces: Array<Buffer> = []
    try {
      for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
    } catch {
      return
    }
    if (!request.complete) return
    this.objects.set(key, Buffer.concat(pieces))
    response.writeHead(200, { etag: '"x"' }).end()
  }
}

export const startS3Server = async () => {
  const bucket = new Bucket()
  const server = createServer((request, response) => void bucket.answer(request, response))
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  return {
    bucket,
    options: {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      bucket: BUCKET,
      region: REGION,
      accessKeyId: ACCESS_KEY,
      secretAccessKey: SECRET
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
