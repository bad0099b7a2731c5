/** Assistants, chats and conversations as the API shows them, and their limits. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"

/** Limits promised to callers. */
const MESSAGES_MAX = 50
const CHAT_BYTES_MAX = 32_000
const DOCUMENTS_MAX = 20
export const DOCUMENTS_BY_DEFAULT = 5
export const THRESHOLD_BY_DEFAULT = 0.5
export const TURNS_KEPT = 50
export const TTL_DAYS_BY_DEFAULT = 30
/** Limits that are our own decisions. */
const COLLECTIONS_MAX = 10
const INSTRUCTIONS_BYTES_MAX = 2_000
const TTL_DAYS_MAX = 365
const NAME_CHARACTERS_MAX = 120
const TEMPLATE_CHARACTERS_MAX = 2_000
const FILTER_CHARACTERS_MAX = 4_000
const SESSION_CHARACTERS_MAX = 256
const CASES_MAX = 100
const CASES_BYTES_MAX = 64_000

const sized = (name: string, bytesMax: number) => (text: string) =>
  text.trim() === "" || Buffer.byteLength(text) > bytesMax ? `${name} of 1 to ${bytesMax} bytes` : undefined
const line = (charactersMax: number) =>
  Schema.String.check(
    refusing((text: string) =>
      text.trim() === "" || [...text].length > charactersMax ? `A text of 1 to ${charactersMax} characters` : undefined
    )
  )
const whole = (minimum: number, maximum: number) =>
  Schema.Int.check(
    refusing((value: number) =>
      value >= minimum && value <= maximum ? undefined : `A whole number from ${minimum} to ${maximum}`
    )
  )

const Collections = Schema.Array(line(256)).check(
  refusing((names: ReadonlyArray<string>) =>
    names.length < 1 || names.length > COLLECTIONS_MAX || new Set(names).size < names.length
      ? `1 to ${COLLECTIONS_MAX} different collections`
      : undefined
  )
)
const SearchParams = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "AssistantSearchParams",
  description: "Parameters of every search, without `q`; they may name a profile."
})
const Templates = Schema.Record(
  Schema.String,
  Schema.String.check(
    refusing((text: string) =>
      text.length > TEMPLATE_CHARACTERS_MAX ? `At most ${TEMPLATE_CHARACTERS_MAX} characters` : undefined
    )
  )
)
  .check(
    refusing((templates: Readonly<Record<string, string>>) =>
      Object.keys(templates).length > COLLECTIONS_MAX ? `At most ${COLLECTIONS_MAX}` : undefined
    )
  )
  .annotate({
    description: "By collection: the text of a document for the model, with `{{field}}` for the value of a field."
  })

export const AssistantBody = Schema.Struct({
  name: line(NAME_CHARACTERS_MAX),
  collections: Collections,
  model: Schema.optionalKey(line(200)),
  instructions: Schema.optionalKey(Schema.String.check(refusing(sized("A text", INSTRUCTIONS_BYTES_MAX)))),
  search_params: Schema.optionalKey(SearchParams),
  max_context_documents: Schema.optionalKey(whole(1, DOCUMENTS_MAX)),
  refuse_without_sources: Schema.optionalKey(Schema.Boolean),
  refusal_threshold: Schema.optionalKey(
    Schema.Number.check(refusing((value: number) => (value >= 0 && value <= 1 ? undefined : "A number from 0 to 1")))
  ),
  language: Schema.optionalKey(
    Schema.String.check(
      refusing((text: string) => (/^[a-z]{2}$/.test(text) ? undefined : "Two letters, as in ISO 639-1"))
    )
  ),
  document_template: Schema.optionalKey(Templates),
  conversation_ttl_days: Schema.optionalKey(whole(1, TTL_DAYS_MAX))
}).annotate({
  identifier: "AssistantBody",
  description:
    "`model`: another model of the organization's own provider, or `dowser/extractive`; without a provider it is that. `refusal_threshold`: the share of a question's words that a sentence must hold, the rare ones counting more."
})
export type AssistantBody = typeof AssistantBody.Type

export const Assistant = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  collections: Schema.Array(Schema.String),
  model: Schema.optionalKey(Schema.String),
  instructions: Schema.optionalKey(Schema.String),
  search_params: Schema.optionalKey(SearchParams),
  max_context_documents: Schema.Int,
  refuse_without_sources: Schema.Boolean,
  refusal_threshold: Schema.Number,
  language: Schema.optionalKey(Schema.String),
  document_template: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  conversation_ttl_days: Schema.Int,
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "Assistant" })
export type Assistant = typeof Assistant.Type
export const AssistantList = Schema.Struct({
  data: Schema.Array(Assistant),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "AssistantList", description: "By id: oldest first." })

const ROLES = ["system", "user", "assistant"]
const Message = Schema.Struct({
  role: Schema.String.check(
    refusing((role: string) => (ROLES.includes(role) ? undefined : `One of ${ROLES.join(", ")}`))
  ),
  content: Schema.String
}).annotate({ identifier: "ChatMessage" })
type Messages = ReadonlyArray<typeof Message.Type>
const messagesRefusal = (messages: Messages): string | undefined => {
  if (messages.length < 1 || messages.length > MESSAGES_MAX) return `1 to ${MESSAGES_MAX} messages`
  const last = messages.at(-1)!
  if (last.role !== "user" || last.content.trim() === "") return "The last message is the question, of the role `user`"
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
  return bytes > CHAT_BYTES_MAX ? `At most ${CHAT_BYTES_MAX} bytes in all` : undefined
}
const STREAM_FORMATS = ["native", "openai", "ai_sdk"] as const
export type StreamFormat = (typeof STREAM_FORMATS)[number]

export const ChatBody = Schema.Struct({
  messages: Schema.Array(Message).check(refusing(messagesRefusal)),
  conversation_id: Schema.optionalKey(
    Schema.String.check(
      refusing((id: string) => (/^cnv_\w{1,60}$/.test(id) ? undefined : "The id of a conversation, `cnv_…`"))
    )
  ),
  stream: Schema.optionalKey(Schema.Boolean),
  stream_format: Schema.optionalKey(
    Schema.String.check(
      refusing((format: string) =>
        (STREAM_FORMATS as ReadonlyArray<string>).includes(format) ? undefined : `One of ${STREAM_FORMATS.join(", ")}`
      )
    )
  ),
  stream_options: Schema.optionalKey(Schema.Struct({ include_usage: Schema.optionalKey(Schema.Boolean) })),
  filter_by: Schema.optionalKey(Schema.Record(Schema.String, line(FILTER_CHARACTERS_MAX))),
  user_id: Schema.optionalKey(line(SESSION_CHARACTERS_MAX))
}).annotate({
  identifier: "ChatBody",
  description:
    "`filter_by`: a filter for each collection to narrow. `stream_options`: for the format `openai`. `user_id`: the conversation is deleted when this person is erased. Other members are ignored, so that clients of other services can be pointed here."
})
export type ChatBody = typeof ChatBody.Type

const Citation = Schema.Struct({
  start: Schema.Int.annotate({ description: "Position in the content, in UTF-16 code units." }),
  end: Schema.Int,
  source: Schema.Int.annotate({ description: "Index into `sources`, from 0." })
}).annotate({ identifier: "ChatCitation" })
const Source = Schema.Struct({
  collection: Schema.String,
  document: Schema.Record(Schema.String, Schema.Unknown),
  score: Schema.Number.annotate({ description: "From 0 to 1; the best source of its collection has 1." }),
  snippet: Schema.String
}).annotate({ identifier: "ChatSource" })
const Usage = Schema.Struct({ input_tokens: Schema.Int, output_tokens: Schema.Int }).annotate({
  identifier: "ChatUsage",
  description: "As counted by the model's server; for the embedded model, a quarter of the characters."
})
export const ChatAnswer = Schema.Struct({
  id: Schema.String,
  conversation_id: Schema.String,
  model: Schema.String,
  message: Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.String }),
  sources: Schema.Array(Source),
  usage: Usage,
  created_at: Schema.Int,
  search_query: Schema.String,
  refused: Schema.Boolean,
  citations: Schema.Array(Citation),
  unsupported: Schema.Array(
    Schema.Int.annotate({ description: "Indexes, from 0, of sentences with something that no source contains." })
  )
}).annotate({ identifier: "ChatAnswer" })

const summary = {
  id: Schema.String,
  assistant_id: Schema.String,
  created_at: Schema.Int,
  updated_at: Schema.Int,
  turns: Schema.Int,
  title: Schema.String.annotate({ description: "Taken from the first question." })
}
export const ConversationSummary = Schema.Struct(summary).annotate({ identifier: "ConversationSummary" })
export type ConversationSummary = typeof ConversationSummary.Type
export const ConversationList = Schema.Struct({
  data: Schema.Array(ConversationSummary),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ConversationList", description: "Newest first." })
export const Conversation = Schema.Struct({
  ...summary,
  messages: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      role: Schema.Literals(["user", "assistant"]),
      content: Schema.String,
      created_at: Schema.Int,
      refused: Schema.optionalKey(Schema.Boolean),
      aborted: Schema.optionalKey(Schema.Boolean)
    }).annotate({ identifier: "ConversationMessage" })
  )
}).annotate({ identifier: "Conversation" })

const texts = (most: number) =>
  Schema.Array(line(1_000)).check(
    refusing((values: ReadonlyArray<string>) => (values.length > most ? `At most ${most}` : undefined))
  )
const Case = Schema.Struct({
  question: line(2_000),
  must_contain: Schema.optionalKey(texts(10)),
  must_cite: Schema.optionalKey(texts(10)),
  must_refuse: Schema.optionalKey(Schema.Boolean)
}).annotate({
  identifier: "EvaluationCase",
  description: "`must_contain`: texts that the answer must contain, in any case. `must_cite`: ids of documents."
})
export type EvaluationCase = typeof Case.Type
export const EvaluationBody = Schema.Struct({
  cases: Schema.Array(Case).check(
    refusing((cases: ReadonlyArray<EvaluationCase>) =>
      cases.length < 1 || cases.length > CASES_MAX
        ? `1 to ${CASES_MAX} cases`
        : Buffer.byteLength(JSON.stringify(cases)) > CASES_BYTES_MAX
          ? `At most ${CASES_BYTES_MAX} bytes in all`
          : undefined
    )
  )
}).annotate({ identifier: "EvaluationBody" })
