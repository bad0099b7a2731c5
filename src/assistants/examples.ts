/**
 * Descriptions of the operations of assistants, each with an example request that succeeds (`src/http/operation.ts`).
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
      "Makes an assistant that answers questions from the documents of one to ten collections. Without a provider of the organization's own (`PUT /v1/ai/providers/generator`) its answers are sentences of the documents themselves. A plan without room for one more refuses it with 403.",
    example: {
      body: { name: "Shop", collections: ["meanings"], instructions: "Be brief.", max_context_documents: 5 }
    }
  },
  getAssistant: { description: "Shows an assistant. An unknown id is a 404.", example: { params } },
  replaceAssistant: {
    description: "Replaces an assistant: what is left out is as if it had never been said. Its conversations stay.",
    example: { params, body: { name: "Shop", collections: ["meanings"] } }
  },
  deleteAssistant: {
    description: "Deletes an assistant with its conversations. 404 when there is nothing.",
    example: { params: { assistantId: sampleIds.oldAssistant } }
  },
  chat: {
    description:
      "Answers the last of at most 50 messages, 32 kB in all, from documents that the key may see, each search costing its unit, and cites them: `[1]` in the content is the first of `sources`. Where they hold too little of the question, the answer says so, `refused` is true and `sources` are the three nearest; system messages count from full keys only; `conversation_id` goes on with a conversation, of which the newest 50 turns are kept for 30 days and `stream` sends the answer as it is written, in the `stream_format` native, openai or ai_sdk; a session writes five answers at once, an organization 400 a process, 429 beyond. An answer of this program's own model, and a refusal, costs a tenth of a credit, one of the organization's model a whole one.",
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
      "Starts a job that asks at most 100 questions and tells how often the right documents were found and cited, the answers held what they must, and refusals were right. Each case costs what an answer costs, reserved when the job is asked for; nothing of it is remembered. At most 20 such jobs wait, 409 beyond.",
    example: {
      params,
      body: { cases: [{ question: "Which lamp is good to read by?" }, { question: "Who was Ada?", must_refuse: true }] }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
