/**
 * Shops under load: documents are imported, events sent and searches run continuously, by a client that does what a
 * load balancer and a careful sender do. A search is sent to the other process if one does not answer, and repeated if
 * the answer says that something is temporarily unavailable; a batch of events or documents is sent again until it was
 * accepted, under the same ids.
 */
import { productSchema } from "../../../fixtures/catalog/generate.ts"

interface Shop {
  /** The API processes, up or not. */ readonly bases: ReadonlyArray<string>
  readonly key: string
  readonly documents: ReadonlyArray<string>
  readonly events: number
}
export interface LoadCounts {
  documents: number
  /** Accepted events; each has an id of its own. */ events: number
  searches: number
  /** Requests that were sent again, by the outcome of the first attempt. */ readonly again: Map<string, number>
  /** Searches that no process answered correctly. */ readonly failed: Array<string>
  /** Durations of answered searches, in ms. */ readonly times: Array<number>
}
export const COLLECTION = "goods"
const EVENTS_EACH = 100,
  DOCUMENTS_EACH = 1_000
const SENDERS = 6,
  IMPORTERS = 2,
  SEARCHERS = 2
/** How long a sender waits before it retries, and a searcher between two searches. */
const PAUSE_MS = 100
const ANSWER_MS = 20_000
const SEARCH_TRIES_MAX = 3,
  SEARCH_AGAIN_MS = 2_000
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

export class Load {
  readonly counts: LoadCounts = { documents: 0, events: 0, searches: 0, again: new Map(), failed: [], times: [] }
  /** Share of the work that may be started, so that work is left at every kill. */ allowed = 1
  readonly #shop: Shop
  #turn = 0
  #nextDocuments = 0
  #nextEvents = 0
  #isOver = false

  constructor(shop: Shop) {
    this.#shop = shop
  }

  /** Share of the events that were accepted. */
  get share(): number {
    return this.counts.events / this.#shop.events
  }
  /** Ends when everything was accepted; searches continue until then. */
  async run(): Promise<void> {
    await this.#again("collections", () =>
      this.#send(this.#next(), "POST", "/collections", JSON.stringify(productSchema(COLLECTION)))
    )
    // Other processes learn of the collection a second later; until then they answer that it does not exist.
    for (const base of this.#shop.bases)
      await this.#again("collections", async () => this.#send(base, "GET", `/collections/${COLLECTION}`))
    const searching = Array.from({ length: SEARCHERS }, (_, i) => this.#search(i))
    await Promise.all([
      ...Array.from({ length: IMPORTERS }, () => this.#import()),
      ...Array.from({ length: SENDERS }, () => this.#stream())
    ])
    this.#isOver = true
    await Promise.all(searching)
  }

  #next(): string {
    const { bases } = this.#shop
    return bases[this.#turn++ % bases.length]!
  }
  async #send(base: string, method: string, path: string, body?: string) {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { "x-svc-api-key": this.#shop.key },
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(body === undefined ? {} : { body })
    })
    return { status: response.status, text: await response.text() }
  }
  async #whenAllowed(share: number): Promise<void> {
    while (share > this.allowed) await pause(PAUSE_MS / 4)
  }
  /** Repeats a request until it is accepted. `isTaken`: whether a successful answer has what it must contain. */
  async #again(
    what: string,
    send: () => Promise<{ readonly status: number; readonly text: string }>,
    isTaken: (text: string) => boolean = () => true
  ): Promise<void> {
    for (;;) {
      const answer = await send().catch((error: unknown) => ({ status: 0, text: String(error) }))
      // A collection exists even if the answer to its creation was lost.
      if (answer.status === 409 || (answer.status < 300 && answer.status >= 200 && isTaken(answer.text))) return
      const kind = `${what} ${answer.status === 0 ? "no answer" : answer.status}`
      this.counts.again.set(kind, (this.counts.again.get(kind) ?? 0) + 1)
      await pause(PAUSE_MS)
    }
  }

  async #import(): Promise<void> {
    const { documents } = this.#shop
    for (;;) {
      const from = this.#nextDocuments
      if (from >= documents.length) return
      this.#nextDocuments += DOCUMENTS_EACH
      await this.#whenAllowed(from / documents.length)
      const some = documents.slice(from, from + DOCUMENTS_EACH)
      await this.#again(
        "documents",
        () =>
          this.#send(
            this.#next(),
            "POST",
            `/collections/${COLLECTION}/documents/import?action=upsert`,
            some.join("\n")
          ),
        (text) => text.split("\n").every((line) => line.startsWith('{"success":true'))
      )
      this.counts.documents += some.length
    }
  }
  async #stream(): Promise<void> {
    const { events } = this.#shop
    for (;;) {
      const from = this.#nextEvents
      if (from >= events) return
      this.#nextEvents += EVENTS_EACH
      await this.#whenAllowed(from / events)
      const batch = Array.from({ length: Math.min(EVENTS_EACH, events - from) }, (_, i) => this.#event(from + i))
      const body = JSON.stringify({ events: batch })
      await this.#again(
        "events",
        () => this.#send(this.#next(), "POST", "/events", body),
        (text) => {
          const { accepted, deduplicated } = JSON.parse(text) as Record<"accepted" | "deduplicated", number>
          return accepted + deduplicated === batch.length
        }
      )
      this.counts.events += batch.length
    }
  }
  /** Eight events per visitor: views, and one in eight visitors buys for a cent, so that money is recounted too. */
  #event(n: number) {
    const isPurchase = n % 8 === 7
    return {
      type: isPurchase ? "purchase" : "view",
      collection: COLLECTION,
      document_id: `p${1 + (n % 100)}`,
      session_id: `visit-${Math.floor(n / 8)}`,
      event_id: `event-${n}`,
      timestamp: Date.now(),
      ...(isPurchase ? { revenue: 0.01 } : {})
    }
  }
  async #search(i: number): Promise<void> {
    const words = ["shoe", "lamp", "red", "wireles", "the", "bag"]
    for (let n = i; !this.#isOver; n++) {
      const path = `/collections/${COLLECTION}/documents/search?q=${words[n % words.length]}&query_by=title&facet_by=brand`
      await this.#answered(path)
      await pause(PAUSE_MS)
    }
  }
  /** What is temporarily unavailable (502, 503) is requested again a little later, as `Retry-After` says. */
  async #answered(path: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const failure = await this.#searched(path)
      if (failure === undefined) return
      if (tries === SEARCH_TRIES_MAX || !/^50[23] /.test(failure)) return void this.counts.failed.push(failure)
      const kind = `searches ${failure.slice(0, 3)}`
      this.counts.again.set(kind, (this.counts.again.get(kind) ?? 0) + 1)
      await pause(SEARCH_AGAIN_MS)
    }
  }
  /** Why there is no answer. */
  async #searched(path: string): Promise<string | undefined> {
    const began = performance.now()
    const said: Array<string> = []
    const { bases } = this.#shop
    const first = this.#turn++
    for (let tried = 0; tried < bases.length; tried++) {
      const answer = await this.#send(bases[(first + tried) % bases.length]!, "GET", path).catch((error: unknown) =>
        String(error)
      )
      if (typeof answer !== "string" && answer.status === 200) {
        this.counts.searches++
        this.counts.times.push(performance.now() - began)
        return undefined
      }
      said.push(typeof answer === "string" ? answer : `${answer.status} ${answer.text}`)
      // A load balancer tries another process if one is gone, not if one has answered.
      if (typeof answer !== "string") break
    }
    return said.join("; ")
  }
}
