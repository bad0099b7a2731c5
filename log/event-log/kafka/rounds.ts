/**
 * Requests to brokers, one at a time to each: whatever is requested in one turn, or while the broker answers, is sent
 * together in the next request. A request costs some 0.1 ms of this thread, and readers read many partitions
 * concurrently.
 */
import { errorTypeOf } from "./errors.ts"

export interface AskedPartition {
  readonly topic: string
  readonly partition: number
}

interface PendingAsk<Asked, Answer> {
  readonly asked: Asked
  readonly answer: (answer: Answer | undefined) => void
  readonly fail: (error: unknown) => void
}

const keyOf = ({ partition, topic }: AskedPartition): string => `${topic}/${partition}`

/** Groups requests by topic, as the protocol needs them. */
export const byTopic = <Asked extends AskedPartition>(
  asked: ReadonlyArray<Asked>
): ReadonlyArray<{ readonly topic: string; readonly partitions: ReadonlyArray<Asked> }> => {
  const topics = new Map<string, Array<Asked>>()
  for (const each of asked) {
    const ofTopic = topics.get(each.topic)
    if (ofTopic === undefined) topics.set(each.topic, [each])
    else ofTopic.push(each)
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }))
}

export class Rounds<Broker extends object, Asked extends AskedPartition, Answer> {
  readonly #send: (
    broker: Broker,
    asked: ReadonlyArray<Asked>
  ) => Promise<ReadonlyArray<AskedPartition & { readonly answer: Answer }>>
  /** Requests that wait for a broker with a request in flight. */
  readonly #waiting = new Map<Broker, Array<PendingAsk<Asked, Answer>>>()

  constructor(
    send: (
      broker: Broker,
      asked: ReadonlyArray<Asked>
    ) => Promise<ReadonlyArray<AskedPartition & { readonly answer: Answer }>>
  ) {
    this.#send = send
  }

  /**
   * Undefined if the broker does not mention the partition. Rejects with the broker's error for this partition alone,
   * or if the broker does not answer.
   */
  ask(broker: Broker, asked: Asked): Promise<Answer | undefined> {
    return new Promise((answer, fail) => {
      const waiting = this.#waiting.get(broker)
      if (waiting !== undefined) return void waiting.push({ asked, answer, fail })
      this.#waiting.set(broker, [{ asked, answer, fail }])
      void this.#run(broker)
    })
  }

  async #run(broker: Broker): Promise<void> {
    // Callers of the same turn share the request.
    await Promise.resolve()
    const waiting = this.#waiting.get(broker)!
    while (waiting.length > 0) await this.#round(broker, takeRound(waiting))
    this.#waiting.delete(broker)
  }

  async #round(broker: Broker, round: ReadonlyArray<PendingAsk<Asked, Answer>>): Promise<void> {
    try {
      const answers = new Map(
        (
          await this.#send(
            broker,
            round.map(({ asked }) => asked)
          )
        ).map((each) => [keyOf(each), each.answer])
      )
      for (const { answer, asked } of round) answer(answers.get(keyOf(asked)))
    } catch (error) {
      // The client throws one partition's error for all of them, so each is requested alone. A broker that does not
      // answer at all is not tried again.
      if (round.length === 1 || errorTypeOf(error) === "") return round.forEach(({ fail }) => fail(error))
      for (const alone of round) await this.#round(broker, [alone])
    }
  }
}

/** Takes each waiting partition once, in order, because a request cannot contain a partition twice. */
const takeRound = <Asked extends AskedPartition, Answer>(
  waiting: Array<PendingAsk<Asked, Answer>>
): ReadonlyArray<PendingAsk<Asked, Answer>> => {
  const taken = new Map<string, PendingAsk<Asked, Answer>>()
  const rest: Array<PendingAsk<Asked, Answer>> = []
  for (const one of waiting.splice(0)) {
    const key = keyOf(one.asked)
    if (taken.has(key)) rest.push(one)
    else taken.set(key, one)
  }
  waiting.push(...rest)
  return [...taken.values()]
}
