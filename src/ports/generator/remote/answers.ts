/**
 * Parses the answers of generative model servers, complete and event by event, according to their public interfaces.
 * Pure. Only the answer's own text is taken; reasoning and tool calls are in fields that are not read.
 */
import type { Generated, GeneratorFinish, GeneratorKind } from "../generator.ts"

/** A part of a streamed answer; fields that an event does not contain are absent. */
interface Part {
  readonly text?: string | undefined
  readonly finish?: GeneratorFinish | undefined
  readonly input_tokens?: number | undefined
  readonly output_tokens?: number | undefined
  /** Whether nothing follows this part. */ readonly isLast?: boolean
  /** The error that the server reports in the middle of its answer. */ readonly error?: string
  readonly isBusy?: boolean
}

const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (under, name) =>
      typeof under === "object" && under !== null && Object.hasOwn(under, name)
        ? (under as Record<string | number, unknown>)[name]
        : undefined,
    value
  )
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined

const finishes: ReadonlyMap<unknown, GeneratorFinish> = new Map<unknown, GeneratorFinish>([
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["content_filter", "filtered"],
  ["refusal", "filtered"]
])
const finishOf = (value: unknown): GeneratorFinish | undefined =>
  typeof value === "string" ? (finishes.get(value) ?? "stop") : undefined

/** Content that is one string, or the joined texts of its parts. */
const contentOf = (content: unknown): string | undefined =>
  Array.isArray(content)
    ? content
        .filter((part) => at(part, "type") === "text")
        .map((part) => textOf(at(part, "text")) ?? "")
        .join("")
    : textOf(content)
const errorOf = (event: unknown): Part | undefined => {
  const error = at(event, "error")
  if (error === undefined || error === null) return undefined
  const type = textOf(at(error, "type")) ?? ""
  return {
    error: textOf(at(error, "message")) ?? textOf(error) ?? "an error without a message",
    isBusy: /overloaded|rate_limit/.test(type)
  }
}

interface Reading {
  readonly isServerSent: boolean
  readonly whole: (answer: unknown) => Part
  readonly event: (event: unknown) => Part
}
const usageOf = (answer: unknown): Part => ({
  input_tokens: countOf(at(answer, "usage", "prompt_tokens")) ?? countOf(at(answer, "usage", "input_tokens")),
  output_tokens: countOf(at(answer, "usage", "completion_tokens")) ?? countOf(at(answer, "usage", "output_tokens"))
})
const openai: Reading = {
  isServerSent: true,
  whole: (answer) => ({
    text: contentOf(at(answer, "choices", 0, "message", "content")),
    finish: finishOf(at(answer, "choices", 0, "finish_reason")),
    ...usageOf(answer)
  }),
  // The chunk with the usage has no choices; some servers send null instead.
  event: (event) => ({
    text: contentOf(at(event, "choices", 0, "delta", "content")),
    finish: finishOf(at(event, "choices", 0, "finish_reason")),
    ...usageOf(event)
  })
}
const anthropic: Reading = {
  isServerSent: true,
  whole: (answer) => ({
    text: contentOf(at(answer, "content")),
    finish: finishOf(at(answer, "stop_reason")),
    ...usageOf(answer)
  }),
  event: (event) => {
    switch (at(event, "type")) {
      case "message_start":
        return usageOf(at(event, "message"))
      case "content_block_delta":
        return { text: at(event, "delta", "type") === "text_delta" ? textOf(at(event, "delta", "text")) : undefined }
      case "message_delta":
        return { finish: finishOf(at(event, "delta", "stop_reason")), ...usageOf(event) }
      case "message_stop":
        return { isLast: true }
      default:
        return {}
    }
  }
}
const ollamaPart = (answer: unknown): Part => ({
  text: textOf(at(answer, "message", "content")),
  finish: at(answer, "done") === true ? (finishOf(at(answer, "done_reason")) ?? "stop") : undefined,
  input_tokens: countOf(at(answer, "prompt_eval_count")),
  output_tokens: countOf(at(answer, "eval_count"))
})
const ollama: Reading = {
  isServerSent: false,
  whole: ollamaPart,
  event: (event) => ({ ...ollamaPart(event), isLast: at(event, "done") === true })
}
const readings: ReadonlyMap<GeneratorKind, Reading> = new Map([
  ["openai", openai],
  ["anthropic", anthropic],
  ["ollama", ollama]
])

export const isServerSent = (kind: GeneratorKind): boolean => readings.get(kind)!.isServerSent

/** Returns the end of a sentence if the event does not belong to the interface. */
export const partOf = (kind: GeneratorKind, event: string): Part => {
  if (event.trim() === "[DONE]") return { isLast: true }
  let value: unknown
  try {
    value = JSON.parse(event)
  } catch {
    return { error: "an event that is not JSON" }
  }
  return errorOf(value) ?? readings.get(kind)!.event(value)
}

/** Estimated number of tokens if the server does not report it. */
export const tokensAbout = (characters: number): number => Math.ceil(characters / 4)

/** Returns undefined if the answer contains no text. */
export const generatedIn = (kind: GeneratorKind, answer: unknown, asked: number): Generated | undefined => {
  const { finish, input_tokens, output_tokens, text } = readings.get(kind)!.whole(answer)
  // A model that withheld everything reports so without a text.
  if (text === undefined && finish !== "filtered") return undefined
  return {
    text: text ?? "",
    finish: finish ?? "stop",
    usage: {
      input_tokens: input_tokens ?? tokensAbout(asked),
      output_tokens: output_tokens ?? tokensAbout((text ?? "").length)
    }
  }
}
