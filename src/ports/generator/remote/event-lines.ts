/**
 * Splits a body that arrives in chunks into events: the `data` of server-sent events, or lines of JSON. Bounded; has no
 * effects beyond its own state.
 */
export class EventLines {
  readonly #isServerSent: boolean
  readonly #lineMax: number
  readonly #decoder = new TextDecoder()
  #rest = ""
  #data: string[] = []

  constructor(isServerSent: boolean, lineMax: number) {
    this.#isServerSent = isServerSent
    this.#lineMax = lineMax
  }

  /** Returns the events that these bytes complete; undefined if one is too long. */
  push(bytes: Uint8Array): ReadonlyArray<string> | undefined {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n")
    this.#rest = lines.pop()!
    const events = lines.flatMap((line) => this.#line(line.endsWith("\r") ? line.slice(0, -1) : line))
    const waiting = this.#data.reduce((sum, line) => sum + line.length, this.#rest.length)
    return waiting > this.#lineMax ? undefined : events
  }

  /** Returns what follows the last line break, because some servers omit the final one. */
  end(): ReadonlyArray<string> {
    const last = this.#rest + this.#decoder.decode()
    this.#rest = ""
    return [...(last === "" ? [] : this.#line(last)), ...(this.#isServerSent ? this.#line("") : [])]
  }

  #line(line: string): ReadonlyArray<string> {
    if (!this.#isServerSent) return line.trim() === "" ? [] : [line]
    if (line.startsWith("data:")) this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5))
    if (line !== "" || this.#data.length === 0) return []
    const event = this.#data.join("\n")
    this.#data = []
    return [event]
  }
}
