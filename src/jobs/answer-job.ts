/** What runs inside a job's thread (`job-thread.ts`): no imports of the program, so that it starts quickly. */
import { parentPort } from "node:worker_threads"

export interface JobReply {
  readonly answer?: unknown
  readonly error?: string
}

/** Replies to each message of the thread's owner with the result of `answer`, or its error. */
export const answerJob = <Ask>(answer: (ask: Ask) => unknown): void => {
  parentPort!.on("message", (ask: Ask) => {
    let answered: JobReply
    try {
      answered = { answer: answer(ask) }
    } catch (error) {
      answered = { error: error instanceof Error ? error.message.slice(0, 300) : "unknown" }
    }
    parentPort!.postMessage(answered)
  })
}
