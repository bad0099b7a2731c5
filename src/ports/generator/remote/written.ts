/**
 * An answer that is being streamed: converts events of a server's stream into pieces of the port, within bounds. One
 * instance per answer.
 */
import { GenerationFailed, type GeneratorFinish, type GeneratorPiece, type GenerateRequest } from "../generator.ts"
import { isServerSent, partOf, tokensAbout } from "./answers.ts"
import { EventLines } from "./event-lines.ts"
import { failed, quoted } from "./failures.ts"

const EVENT_MAX = 1_000_000
const TEXT_MAX = 400_000

export class Written {
  readonly #request: GenerateRequest
  readonly #lines: EventLines
  #finish: GeneratorFinish | undefined
  #input: number | undefined
  #output: number | undefined
  #characters = 0
  #isOver = false

  constructor(request: GenerateRequest) {
    this.#request = request
    this.#lines = new EventLines(isServerSent(request.model.kind), EVENT_MAX)
  }

  push(bytes: Uint8Array): ReadonlyArray<GeneratorPiece> | GenerationFailed {
    const events = this.#lines.push(bytes)
    return events === undefined
      ? failed(this.#request.model, "failed", "sent an event of more than 1 MB")
      : this.#take(events)
  }

  /** The body has ended: an answer whose end was reported is complete, even if its last event is missing. */
  end(): ReadonlyArray<GeneratorPiece> | GenerationFailed {
    const pieces = this.#take(this.#lines.end())
    if (pieces instanceof GenerationFailed || this.#isOver) return pieces
    return this.#finish === undefined
      ? failed(this.#request.model, "failed", "broke its answer off")
      : [...pieces, this.#ending(this.#finish)]
  }

  #ending(finish: GeneratorFinish): GeneratorPiece {
    this.#isOver = true
    const asked = this.#request.messages.reduce((sum, { content }) => sum + content.length, 0)
    const usage = {
      input_tokens: this.#input ?? tokensAbout(asked),
      output_tokens: this.#output ?? tokensAbout(this.#characters)
    }
    return { kind: "end", finish, usage }
  }

  #take(events: ReadonlyArray<string>): ReadonlyArray<GeneratorPiece> | GenerationFailed {
    const { model } = this.#request
    const pieces: GeneratorPiece[] = []
    for (const event of events) {
      if (this.#isOver) break
      const part = partOf(model.kind, event)
      if (part.error !== undefined)
        return failed(model, part.isBusy === true ? "busy" : "failed", `broke off${quoted(model, part.error)}`)
      this.#finish = part.finish ?? this.#finish
      this.#input = part.input_tokens ?? this.#input
      this.#output = part.output_tokens ?? this.#output
      if (part.text !== undefined && part.text !== "") {
        this.#characters += part.text.length
        if (this.#characters > TEXT_MAX) return failed(model, "failed", "does not come to an end")
        pieces.push({ kind: "text", text: part.text })
      }
      // An end without a reported reason means that the server was stopped.
      if (part.isLast === true && this.#finish === undefined) return failed(model, "failed", "broke its answer off")
      if (part.isLast === true) pieces.push(this.#ending(this.#finish!))
    }
    return pieces
  }
}
