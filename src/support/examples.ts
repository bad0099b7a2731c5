/** Descriptions of the operations of support, each with an example request that succeeds (`src/http/operation.ts`). */
import { sampleIds } from "../api/sample-ids.ts"
import type { Described } from "../http/operation.ts"

const params = { threadId: sampleIds.supportThread }
const OWN =
  "A search key reaches the threads of the session in `X-SVC-SESSION-ID`: 400 without the header, 403 for another session's."
export const described = {
  listSupportThreads: {
    description: `Lists threads, those where something was written last first. \`status\`, \`assignee_id\` and \`q\`, words of subject, name, address or the last message, keep a part of them; \`q\` looks at the newest 10,000. A page has at most 100, 20 by default. ${OWN}`,
    example: { query: { status: "open", limit: "20" } }
  },
  createSupportThread: {
    description:
      "Opens a thread of a session, with a first message if `text` is given, and sends `support.thread.created`. A search key names the session in `X-SVC-SESSION-ID`, a full key in `session_id`. A session has at most 50 threads that are not closed, 429 beyond; a plan without room for another thread answers 403. Threads without a message for a year are deleted.",
    example: {
      body: {
        subject: "Where is my lamp?",
        text: "I ordered it on Monday.",
        session_id: "ses-1",
        visitor: { name: "Ada", email: "ada@example.com" }
      }
    }
  },
  getSupportThread: { description: `Shows a thread. An unknown id is a 404. ${OWN}`, example: { params } },
  updateSupportThread: {
    description: `Changes what is given of a thread. Whoever has its stream open hears of it. An \`assignee_id\` that is no member of the organization is a 400. ${OWN}`,
    example: { params, body: { status: "closed" } }
  },
  deleteSupportThread: {
    description: "Deletes a thread with its messages and attachments. An unknown id is a 404.",
    example: { params: { threadId: sampleIds.oldSupportThread } }
  },
  listSupportMessages: {
    description: `Shows messages oldest first, and counts them as read by the caller's side. A page has at most 250, 50 by default. ${OWN}`,
    example: { params, query: { limit: "50" } }
  },
  postSupportMessage: {
    description: `Writes a message of at most 8,192 bytes, of the visitor with a search key and of an agent with a full one, and sends \`support.message.created\`. A closed thread opens again; beyond 5,000 messages it is a 409. \`media_ids\` name at most ten assets with content. ${OWN}`,
    example: { params, body: { text: "It left the warehouse this morning." } }
  },
  streamSupportThread: {
    description: `Sends each message as an event \`message\` whose \`id\` counts up, and \`thread\` when the thread changes; a comment every 15 seconds says that the connection lives. Begins behind the id in \`Last-Event-ID\` or \`last_event_id\`, else with what is written from now on; \`api_key\` and \`session_id\` stand in the query where no header can be set. It ends after an hour, and when the key does; an organization has at most 500 streams a process, its visitors 400 of them, and a session 5, 429 beyond. ${OWN}`,
    example: { params }
  },
  getSupportAttachment: {
    description: `Serves the content of an asset that a message of the thread names, with ranges, as \`getMediaContent\` does. Any other asset is a 404. ${OWN}`,
    example: { params: { ...params, mediaId: sampleIds.media } }
  }
} as const satisfies Readonly<Record<string, Described>>
