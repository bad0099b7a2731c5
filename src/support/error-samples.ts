/** A sample of each error that the room declares. */
import type { ErrorSample } from "../room.ts"
import { OtherSession, ThreadFull } from "./errors.ts"

export const errorSamples: ReadonlyArray<ErrorSample> = [
  ["OtherSession", new OtherSession({ message: "The thread belongs to another session." })],
  ["ThreadFull", new ThreadFull({ message: "The thread has 5000 messages: begin another one.", limit: 5_000 })]
]
