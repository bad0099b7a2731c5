/**
 * A separate load process: sends prepared HTTP requests over keep-alive sockets to loopback, either as fast as
 * responses arrive (closed loop) or at a fixed arrival rate, where latency counts from the moment a request was due,
 * so that a stall of the server is not hidden. Reads one job as JSON on standard input and writes one result as JSON
 * on standard output.
 */
import { connect, type Socket } from "node:net"
import type { Worker } from "node:worker_threads"
import { instant as now_ms, pace, startPacer } from "./pacer.ts"

export interface LoadJob {
  readonly host: string
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** Requests per second; 0 = closed loop. */ readonly rate: number
  /**
   * Complete requests, base64, used in turn. With `unique`, each `@@@@@@@@@@@@` in a request is replaced by a fresh
   * 12-digit number, and each `#############` by a time in Unix milliseconds: the first is `spread_ms` ago, the last
   * is now.
   */
  readonly requests: ReadonlyArray<string>
  readonly unique: boolean
  /** The first unused number. */ readonly uniqueFrom?: number
  readonly spread_ms?: number
  /** Stops after this many requests, even before its time is over. */ readonly requestsMax?: number
}
export interface LoadResult {
  readonly sent: number
  readonly answered: number
  readonly statuses: Readonly<Record<string, number>>
  readonly seconds: number
  readonly latencies_ms: ReadonlyArray<number>
  /** Sum of `accepted` over the responses that have it. */ readonly accepted: number
  readonly processor_s: number
  /** How late the load noticed that each request was due, which is not the server's fault. Empty in a closed loop. */
  readonly late_ms: ReadonlyArray<number>
  /**
   * Durations of one fixed loop that runs ten times a second: the speed of a shared machine changes by half within
   * seconds.
   */
  readonly loop_us: ReadonlyArray<number>
}

const loopback = /^(127\.\d+\.\d+\.\d+|localhost|::1)$/
const LOOP_TURNS = 20,
  LOOP_EVERY_MS = 100,
  LOOPS = 3
const parsed = JSON.stringify(
  Array.from({ length: 10 }, (_, i) => ({
    type: "view",
    event_id: `event-${i}-of-a-visitor`,
    session_id: `session-${i}`,
    document_id: `product-${i}`,
    collection: "products",
    timestamp: 1_700_000_000_000 + i,
    price: i / 7
  }))
)
/**
 * The best of several runs, because the best was not interrupted. The loop parses JSON: a chain of multiplications
 * takes the same time even when something else uses the core's other hardware thread.
 */
const loop_us = (): number => {
  let best = Infinity
  for (let nth = 0; nth < LOOPS; nth++) {
    const began = performance.now()
    for (let turn = 0; turn < LOOP_TURNS; turn++) JSON.parse(parsed)
    best = Math.min(best, performance.now() - began)
  }
  return best * 1_000
}
const number = "@@@@@@@@@@@@",
  instant = "#############"
const placesOf = (template: Buffer, marker: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = template.indexOf(marker); at >= 0; at = template.indexOf(marker, at + marker.length)) found.push(at)
  return found
}
/** Writes `value` (below 2^31) with leading zeros; `end` is the position after its last digit. */
const writeSmall = (bytes: Buffer, value: number, end: number, digits: number): void => {
  for (let left = value, i = end - 1; i >= end - digits; i--) {
    const tenth = (left / 10) | 0
    bytes[i] = 48 + left - tenth * 10
    left = tenth
  }
}
const LOW_DIGITS = 6,
  LOW = 1e6
/**
 * Does not use `write`: four hundred calls per request took half of the load's time, on processors that the server
 * shares. Splits the number in two halves, because whole numbers below 2^31 divide fast.
 */
const writeDigits = (bytes: Buffer, value: number, at: number, digits: number): void => {
  const high = Math.floor(value / LOW)
  writeSmall(bytes, high, at + digits - LOW_DIGITS, digits - LOW_DIGITS)
  writeSmall(bytes, value - high * LOW, at + digits, LOW_DIGITS)
}

const run = (job: LoadJob, pacer: Worker | undefined): Promise<LoadResult> =>
  new Promise((settle, reject) => {
    if (!loopback.test(job.host)) return reject(new Error("Loads go to loopback only."))
    if (job.seconds > 600) return reject(new Error("A load runs at most 600 s."))
    const templates = job.requests.map((text) => Buffer.from(text, "base64"))
    const numbers = templates.map((template) => placesOf(template, number))
    const instants = templates.map((template) => placesOf(template, instant))
    const latencies: Array<number> = [],
      late: Array<number> = [],
      loops: Array<number> = []
    const statuses: Record<string, number> = {}
    const { requestsMax = Infinity } = job
    let sent = 0,
      answered = 0,
      accepted = 0,
      unique = job.uniqueFrom ?? 0,
      turn = 0
    const started = performance.now()
    const ends = started + job.seconds * 1000
    const due: Array<number> = []
    let dueHead = 0
    const idle: Array<Connection> = []
    let open = 0
    let isOver = false

    class Connection {
      readonly socket: Socket
      pending: Buffer | undefined
      dueAt = 0
      constructor() {
        open++
        this.socket = connect({ host: job.host, port: job.port, noDelay: true })
        this.socket.on("data", (chunk: Buffer) => this.receive(chunk))
        this.socket.on("error", (error) => {
          statuses[`error ${error.message.slice(0, 40)}`] = (statuses[`error ${error.message.slice(0, 40)}`] ?? 0) + 1
        })
        this.socket.on("close", () => {
          open--
          finishWhenDone()
        })
        this.socket.on("connect", () => this.next())
      }
      next() {
        const now = performance.now()
        if (now >= ends || sent >= requestsMax) return void this.socket.end()
        if (job.rate === 0) return this.send(now)
        if (dueHead < due.length) return this.send(due[dueHead++])
        idle.push(this)
      }
      send(dueAt: number) {
        this.dueAt = dueAt
        const which = turn++ % templates.length
        let bytes = templates[which]
        if (job.unique) {
          bytes = Buffer.from(bytes)
          const now = Date.now(),
            times = instants[which]
          unique++
          const places = numbers[which]
          if (places.length > 0) writeDigits(bytes, unique, places[0], number.length)
          for (let i = 1; i < places.length; i++)
            for (let digit = 0; digit < number.length; digit++) bytes[places[i] + digit] = bytes[places[0] + digit]
          for (let i = 0; i < times.length; i++)
            writeDigits(
              bytes,
              now - Math.round((job.spread_ms ?? 0) * (1 - (i + 1) / times.length)),
              times[i],
              instant.length
            )
        }
        sent++
        this.socket.write(bytes)
      }
      receive(chunk: Buffer) {
        const all = this.pending === undefined ? chunk : Buffer.concat([this.pending, chunk])
        const head = all.indexOf("\r\n\r\n")
        if (head < 0) {
          this.pending = all
          return
        }
        const text = all.toString("latin1", 0, head)
        const length = /content-length: (\d+)/i.exec(text)
        // A streamed response ends with its empty last chunk.
        const isChunked = /transfer-encoding: chunked/i.test(text)
        const total = isChunked ? all.length : head + 4 + (length === null ? 0 : Number(length[1]))
        if (
          all.length < total ||
          (isChunked && all.toString("latin1", Math.max(head, all.length - 5)) !== "0\r\n\r\n")
        ) {
          this.pending = all
          return
        }
        this.pending = undefined
        const now = performance.now()
        latencies.push(now - this.dueAt)
        answered++
        const status = text.slice(9, 12)
        statuses[status] = (statuses[status] ?? 0) + 1
        const count = /"accepted":(\d+)/.exec(all.toString("latin1", head + 4, total))
        if (count !== null) accepted += Number(count[1])
        this.next()
      }
    }

    const finishWhenDone = () => {
      if (open > 0 || isOver) return
      isOver = true
      clearInterval(ticks)
      void pacer?.terminate()
      const usage = process.cpuUsage()
      settle({
        sent,
        answered,
        statuses,
        seconds: (performance.now() - started) / 1000,
        latencies_ms: latencies,
        late_ms: late,
        loop_us: loops,
        accepted,
        processor_s: (usage.user + usage.system) / 1e6
      })
    }

    // Connections take turns, because the server closes a connection that never sends anything.
    const sendDue = () => {
      while (idle.length > 0 && dueHead < due.length) idle.shift()?.send(due[dueHead++])
      if (dueHead > 100_000) {
        due.splice(0, dueHead)
        dueHead = 0
      }
    }
    const origin = now_ms() - performance.now()
    if (pacer !== undefined)
      pace(pacer, { started: origin + started, ends: origin + ends, rate: job.rate }, (at) => {
        const dueAt = at - origin
        late.push(Math.max(0, performance.now() - dueAt))
        due.push(dueAt)
        sendDue()
      })
    pacer?.once("error", reject)
    const ticks = setInterval(() => {
      loops.push(loop_us())
      if (performance.now() >= ends) for (const connection of idle.splice(0)) connection.socket.end()
    }, LOOP_EVERY_MS)
    for (let i = 0; i < job.connections; i++) new Connection()
  })

const read = async (): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

if (import.meta.main) {
  const job = JSON.parse(await read()) as LoadJob
  run(job, job.rate === 0 ? undefined : await startPacer()).then(
    (result) => {
      process.stdout.write(JSON.stringify(result), () => process.exit(0))
    },
    (error: Error) => {
      process.stderr.write(`${error.message}\n`)
      process.exit(1)
    }
  )
}
