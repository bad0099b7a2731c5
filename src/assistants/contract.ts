/** Operations on assistants, which answer questions from documents. */
import { Schema } from "effect"
import {
  EngineOverloaded,
  EngineUnavailable,
  InputInvalid,
  NotFound,
  SessionRequired,
  Throttled
} from "../http/errors.ts"
import { Conflict } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { Job } from "../jobs/schema.ts"
import { aiErrors, FeatureNotInPlan } from "../metering/errors.ts"
import { ConversationOfOther, GeneratorFailed } from "./errors.ts"
import { described } from "./examples.ts"
import {
  Assistant,
  AssistantBody,
  AssistantList,
  ChatAnswer,
  ChatBody,
  Conversation,
  ConversationList,
  EvaluationBody
} from "./schema.ts"

const at = { group: "assistants", plane: "control", scope: "full" } as const
const assistantId = Schema.String.annotate({ description: "The id of an assistant, `ast_…`." })
const conversationId = Schema.String.annotate({ description: "The id of a conversation, `cnv_…`." })
const params = { assistantId }
const root = "/v1/assistants"
const path = `${root}/:assistantId` as const
const page = Schema.Struct(pageFields({ max: 100, byDefault: 20 }))

export const listAssistants = operation({
  ...at,
  ...described.listAssistants,
  id: "listAssistants",
  summary: "List assistants",
  method: "GET",
  path: root,
  query: page,
  success: AssistantList,
  errors: [InputInvalid]
})
export const createAssistant = operation({
  ...at,
  ...described.createAssistant,
  id: "createAssistant",
  summary: "Create an assistant",
  method: "POST",
  path: root,
  payload: AssistantBody,
  success: Assistant,
  status: 201,
  errors: [FeatureNotInPlan, InputInvalid]
})
export const getAssistant = operation({
  ...at,
  ...described.getAssistant,
  id: "getAssistant",
  summary: "Get an assistant",
  method: "GET",
  path,
  params,
  success: Assistant,
  errors: [NotFound]
})
export const replaceAssistant = operation({
  ...at,
  ...described.replaceAssistant,
  id: "replaceAssistant",
  summary: "Replace an assistant",
  method: "PUT",
  path,
  params,
  payload: AssistantBody,
  success: Assistant,
  errors: [InputInvalid, NotFound]
})
export const deleteAssistant = operation({
  ...at,
  ...described.deleteAssistant,
  id: "deleteAssistant",
  summary: "Delete an assistant with its conversations",
  method: "DELETE",
  path,
  params,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedAssistant" }),
  errors: [NotFound]
})
export const chat = operation({
  ...at,
  ...described.chat,
  scope: "search",
  isAi: true,
  id: "chat",
  summary: "Ask an assistant",
  method: "POST",
  path: `${path}/chat/completions`,
  params,
  payload: ChatBody,
  success: ChatAnswer,
  successMedia: ["application/json", "text/event-stream"],
  errors: [
    ConversationOfOther,
    EngineOverloaded,
    EngineUnavailable,
    FeatureNotInPlan,
    GeneratorFailed,
    InputInvalid,
    NotFound,
    SessionRequired,
    Throttled,
    ...aiErrors
  ]
})
export const listConversations = operation({
  ...at,
  ...described.listConversations,
  scope: "search",
  id: "listConversations",
  summary: "List conversations: all of them, or those of the session",
  method: "GET",
  path: `${path}/conversations`,
  params,
  query: page,
  success: ConversationList,
  errors: [InputInvalid, NotFound, SessionRequired]
})
export const getConversation = operation({
  ...at,
  ...described.getConversation,
  scope: "search",
  id: "getConversation",
  summary: "Get a conversation",
  method: "GET",
  path: `${path}/conversations/:conversationId`,
  params: { assistantId, conversationId },
  success: Conversation,
  errors: [ConversationOfOther, NotFound, SessionRequired]
})
export const deleteConversation = operation({
  ...at,
  ...described.deleteConversation,
  scope: "search",
  id: "deleteConversation",
  summary: "Delete a conversation",
  method: "DELETE",
  path: `${path}/conversations/:conversationId`,
  params: { assistantId, conversationId },
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedConversation" }),
  errors: [ConversationOfOther, NotFound, SessionRequired]
})
export const evaluateAssistant = operation({
  ...at,
  ...described.evaluateAssistant,
  id: "evaluateAssistant",
  summary: "Evaluate an assistant with cases",
  method: "POST",
  path: `${path}/evaluations`,
  params,
  payload: EvaluationBody,
  success: Job,
  status: 202,
  errors: [Conflict, InputInvalid, NotFound, ...aiErrors]
})
