/** A webhook receiver: a real server on loopback that keeps what it received and answers as configured. */
import { createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface Received {
  readonly at: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: any
}
export type Behaviour = (response: ServerResponse, received: Received, request: IncomingMessage) => void
export interface Receiver {
  readonly url: string
  readonly received: Array<Received>
  /** Its answer from now on; a number is a status. */ answer: number | Behaviour
  /** Resolves when that many have arrived; rejects after `ms`. */ readonly until: (
    count: number,
    ms?: number
  ) => Promise<ReadonlyArray<Received>>
  readonly stop: () => Promise<void>
}

export const pause = (ms: number) => new Promise<void>((settle) => setTimeout(settle, ms))

/** Polls a condition of a test; rejects with `what` after `ms`. */
export const eventually = async <A>(
  what: string,
  look: () => Promise<A | undefined> | A | undefined,
  ms = 120_000
): Promise<A> => {
  for (const ends = Date.now() + ms; Date.now() < ends; await pause(20)) {
    const found = await look()
    if (found !== undefined) return found
  }
  throw new Error(`Not within ${ms} ms: ${what}`)
}

export const startReceiver = async (answer: number | Behaviour = 200): Promise<Receiver> => {
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8")
      const one: Received = {
        at: Date.now(),
        headers: request.headers as Record<string, string>,
        body,
        json: body.startsWith("{") ? JSON.parse(body) : undefined
      }
      receiver.received.push(one)
      if (typeof receiver.answer === "number") response.writeHead(receiver.answer).end()
      else receiver.answer(response, one, request)
    })
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    answer,
    until: (count, ms) =>
      eventually(
        `${count} deliveries (${receiver.received.length} came)`,
        () => (receiver.received.length >= count ? receiver.received : undefined),
        ms
      ),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((settle) => server.close(settle))
    }
  }
  return receiver
}

/** Verifies a signature as receivers should: returns the timestamp of the header, or undefined if no `v1` matches. */
export const verified = ({ body, headers }: Received, secret: string): number | undefined => {
  const parts = (headers["x-svc-signature"] ?? "").split(",").map((part) => part.split("="))
  const t = parts.find(([name]) => name === "t")?.[1] ?? ""
  const expected = createHmac("sha256", secret).update(`${t}.${body}`).digest("hex")
  return parts.some(([name, value]) => name === "v1" && value === expected) ? Number(t) : undefined
}
