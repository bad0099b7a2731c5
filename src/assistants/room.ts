/** Assistants, which answer questions from documents and cite their sources. */
import { Layer } from "effect"
import { defineRoom } from "../room.ts"
import { Assistants } from "./assistants.ts"
import { Chats } from "./chats.ts"
import { expireConversations } from "./conversations-repository.ts"
import { Conversations } from "./conversations.ts"
import { errorSamples } from "./error-samples.ts"
import { assistantTables } from "./migration.ts"
import { routes } from "./routes.ts"

const question = { messages: [{ role: "user", content: "Which lamp is good to read by?" }] }

export const room = defineRoom({
  name: "assistants",
  routes,
  groups: { assistants: "Answers from documents, with what they stand on." },
  layer: Layer.provideMerge(Chats.layer, Layer.mergeAll(Assistants.layer, Conversations.layer)),
  reaches: {
    listAssistants: "organization",
    createAssistant: "organization",
    getAssistant: "organization",
    replaceAssistant: "organization",
    deleteAssistant: "organization",
    chat: "filtered",
    listConversations: "session",
    getConversation: "session",
    deleteConversation: "session",
    evaluateAssistant: "organization"
  },
  features: {
    assistants: { free: 3, standard: 50, unlimited: 1_000 },
    assistant_conversations: { free: 1_000, standard: 50_000, unlimited: 100_000 }
  },
  roles: {
    listAssistants: "member",
    createAssistant: "admin",
    getAssistant: "member",
    replaceAssistant: "admin",
    deleteAssistant: "admin",
    chat: "member",
    listConversations: "member",
    getConversation: "member",
    deleteConversation: "admin",
    evaluateAssistant: "admin"
  },
  seeds: {
    createAssistant: [
      { name: "Shop", collections: ["goods"], search_params: { query_by: "title" }, refusal_threshold: 0.4 },
      { name: "Shop", collections: ["goods"], document_template: { goods: "{{title}}: {{price}}" }, language: "en" }
    ],
    replaceAssistant: [{ name: "Shop", collections: ["goods"], max_context_documents: 3 }],
    chat: [
      question,
      { ...question, stream: true, stream_format: "openai", stream_options: { include_usage: true } },
      { ...question, stream: true, stream_format: "ai_sdk", filter_by: { goods: "price:<10" } },
      { messages: [{ role: "system", content: "x" }, ...question.messages], user_id: "ada" }
    ],
    evaluateAssistant: [{ cases: [{ question: "Who?", must_refuse: true, must_contain: ["x"], must_cite: ["1"] }] }]
  },
  audited: {
    assistant: (sql, { id, organizationId }) =>
      sql`SELECT json_build_object('id', id, 'value', value)::text AS row FROM assistants WHERE organization_id = ${organizationId} AND id = ${id}`
  },
  errorSamples,
  expiries: [expireConversations],
  migrations: { "2026112741_assistants": assistantTables }
})
