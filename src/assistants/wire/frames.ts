/**
 * An answer as server-sent events, in three formats: this program's own, chunks of the OpenAI API, and the UI
 * messages of the AI SDK (`docs/assistants.md`). Pure.
 */
import { stringifyJson } from "@dowser/engine-sdk/documents"
import type { Source } from "../answering/answer.ts"
import type { TurnHead } from "../chats.ts"
import type { ChatAnswer, StreamFormat } from "../schema.ts"

type Whole = typeof ChatAnswer.Type
/** Each function returns the text to send. */
export interface Frames {
  readonly headers: Readonly<Record<string, string>>
  readonly sources: (sources: ReadonlyArray<Source>, model: string) => string
  readonly delta: (text: string) => string
  readonly done: (answer: Whole) => string
  /** `body` is the error body that another operation would return (shape B). */ readonly error: (
    body: Readonly<Record<string, unknown>>
  ) => string
}

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${stringifyJson(data)}\n\n`
const data = (value: unknown): string => `data: ${stringifyJson(value)}\n\n`
const END = "data: [DONE]\n\n"
const NO_HEADERS = {}

const native = (): Frames => ({
  headers: NO_HEADERS,
  sources: (sources) => event("sources", sources),
  delta: (content) => event("delta", { content }),
  done: (answer) => event("done", answer),
  error: (body) => event("error", body)
})

const MS = 1_000
const openai = ({ created_at, id }: TurnHead, includesUsage: boolean): Frames => {
  let model = ""
  const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
    data({
      id,
      object: "chat.completion.chunk",
      created: Math.floor(created_at / MS),
      model,
      choices: [{ index: 0, delta, finish_reason }],
      ...more
    })
  return {
    headers: NO_HEADERS,
    sources: (_, name) => {
      model = name
      return chunk({ role: "assistant", content: "" }, null)
    },
    delta: (content) => chunk({ content }, null),
    done: ({ citations, conversation_id, refused, search_query, sources, unsupported, usage }) => {
      const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = usage
      const counted = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
      const last = chunk({}, "stop", {
        conversation_id,
        refused,
        search_query,
        sources,
        citations,
        unsupported
      })
      const whole = {
        id,
        object: "chat.completion.chunk",
        created: Math.floor(created_at / MS),
        model,
        choices: [],
        usage: counted
      }
      return `${last}${includesUsage ? data(whole) : ""}${END}`
    },
    error: (body) => `${data({ error: { message: body.message, type: body.code, code: body.status } })}${END}`
  }
}

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.slice(0, 200) : undefined
const ADDRESS = /^https?:\/\/\S{1,2000}$/
/** A source as a message part, with its document's address if there is one. */
const sourcePart = ({ collection, document, snippet }: Source, place: number) => {
  const sourceId = `${collection}/${String(document.id ?? place)}`
  const title = textIn(document.title) ?? textIn(document.name) ?? textIn(snippet) ?? sourceId
  const url = [document.url, document.link].find((each) => typeof each === "string" && ADDRESS.test(each))
  return url === undefined
    ? { type: "source-document", sourceId, mediaType: "application/json", title }
    : { type: "source-url", sourceId, url, title }
}
const TEXT = "text-1"
const aiSdk = ({ conversation_id, id }: TurnHead): Frames => ({
  headers: { "x-vercel-ai-ui-message-stream": "v1" },
  sources: (sources) =>
    [
      { type: "start", messageId: id, messageMetadata: { conversation_id } },
      ...sources.map(sourcePart),
      { type: "text-start", id: TEXT }
    ]
      .map(data)
      .join(""),
  delta: (delta) => data({ type: "text-delta", id: TEXT, delta }),
  done: ({ citations, refused, unsupported, usage }) =>
    [
      { type: "text-end", id: TEXT },
      { type: "data-usage", data: usage },
      { type: "data-citations", data: { citations, refused, unsupported } },
      { type: "finish" }
    ]
      .map(data)
      .join("") + END,
  error: (body) => `${data({ type: "error", errorText: body.message })}${END}`
})

export const framesOf = (format: StreamFormat, head: TurnHead, includesUsage: boolean): Frames => {
  switch (format) {
    case "native":
      return native()
    case "openai":
      return openai(head, includesUsage)
    case "ai_sdk":
      return aiSdk(head)
  }
}
