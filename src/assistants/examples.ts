/**
 * Descriptions of the operations on assistants, each with an example request that succeeds (`src/http/operation.ts`).
 */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const params = { assistantId: sampleIds.assistant }
const OWN =
  "A search key reaches the conversations of the session in `X-SVC-SESSION-ID`: 400 without the header, 403 for another session's."
export const described = {
  listAssistants: {
    description: "Lists assistants, oldest first. A page has at most 100, 20 by default.",
    example: { query: { limit: "20" } }
  },
  createAssistant: {
    description:
      "Creates an assistant that answers questions from the documents of one to ten collections. Unless the organization has its own generator (`PUT /v1/ai/providers/generator`), its answers are sentences of the documents themselves. A plan without room for another assistant answers 403.",
    example: {
      body: { name: "Shop", collections: ["meanings"], instructions: "Be brief.", max_context_documents: 5 }
    }
  },
  getAssistant: { description: "Shows an assistant. An unknown id is a 404.", example: { params } },
  replaceAssistant: {
    description: "Replaces an assistant as a whole; omitted fields return to their defaults. Its conversations stay.",
    example: { params, body: { name: "Shop", collections: ["meanings"] } }
  },
  deleteAssistant: {
    description: "Deletes an assistant with its conversations. An unknown id is a 404.",
    example: { params: { assistantId: sampleIds.oldAssistant } }
  },
  chat: {
    description:
      "Answers the last of at most 50 messages (32 kB in all) from documents that the key may see, and cites them: `[1]` in the content is the first of `sources`; each search costs its unit. If the documents support no answer, `refused` is true, the content says so, and `sources` are the three nearest; system messages count with full keys only; `conversation_id` continues a conversation, of which the newest 50 turns are kept for 30 days, and `stream` sends the answer while it is written, with `stream_format` native, openai or ai_sdk. A session may have five answers in progress and an organization 400 per process, 429 beyond; an answer by the built-in model, and a refusal, costs a tenth of a credit; an answer by the organization's own model costs one.",
    example: {
      params,
      body: { messages: [{ role: "user", content: "Which lamp is good to read by?" }] },
      headers: { "x-svc-session-id": "session-1" }
    }
  },
  listConversations: {
    description: `Lists conversations, newest first. A page has at most 100, 20 by default. ${OWN}`,
    example: { params, query: { limit: "20" } }
  },
  getConversation: {
    description: `Shows a conversation with its newest 50 turns. An unknown id is a 404. ${OWN}`,
    example: { params: { ...params, conversationId: sampleIds.conversation } }
  },
  deleteConversation: {
    description: `Deletes a conversation. 404 when there is nothing. ${OWN}`,
    example: { params: { ...params, conversationId: sampleIds.oldConversation } }
  },
  evaluateAssistant: {
    description:
      "Starts a job that asks at most 100 questions and reports how often the right documents were found and cited, how often answers contained what they must, and how often refusals were right. Each case costs as much as an answer, reserved when the job is created; nothing is remembered. At most 20 such jobs wait, 409 beyond.",
    example: {
      params,
      body: { cases: [{ question: "Which lamp is good to read by?" }, { question: "Who was Ada?", must_refuse: true }] }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
