/** The question: the last message, interpreted in the context of the earlier ones. Pure. */
import type { Terms } from "../extractive/terms.ts"

export interface Message {
  readonly role: string
  readonly content: string
}
/** A question and its answer, as remembered. */
export interface Turn {
  readonly question: string
  readonly answer: string
  /** Title of the first document that the answer cited. */ readonly citedTitle: string | undefined
}
interface Asked {
  readonly question: string
  /** Instructions from everyone who may give them, joined. */ readonly instructions: string
  /** Oldest first. */ readonly history: ReadonlyArray<Turn>
}

/** The conversation contained in the request, without the question. */
const turnsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  let question: string | undefined
  for (const { content, role } of messages)
    if (role === "user") question = question === undefined ? content : `${question}\n${content}`
    else if (role === "assistant" && question !== undefined) {
      turns.push({ question, answer: content, citedTitle: undefined })
      question = undefined
    }
  return turns
}

/** `remembered` is the stored conversation that the request continues; it overrides the messages in the request. */
export const askedOf = (
  messages: ReadonlyArray<Message>,
  remembered: ReadonlyArray<Turn>,
  mayInstruct: boolean
): Asked => ({
  question: messages.at(-1)!.content.trim(),
  instructions: mayInstruct
    ? messages
        .filter(({ role }) => role === "system")
        .map(({ content }) => content)
        .join("\n")
    : "",
  history: remembered.length > 0 ? remembered : turnsOf(messages.slice(0, -1))
})

/** Words that refer to earlier messages. */
const pointing = new Set(
  (
    "it its they them their this that these those he him his she her one ones and also " +
    "er ihn ihm sein sie ihr ihre es das dies diese dieser dieses und auch davon dazu dafür damit " +
    "él ella ellos ellas eso esa ese esto esta este su sus y también " +
    "il elle ils elles ça ce cela cette celui celle son sa ses leur et aussi"
  ).split(" ")
)
/** A question with fewer content words cannot stand alone. */
const CONTENT_TERMS_MIN = 2
const BEGINNING = /[\p{L}\p{N}]+/gu
const TERMS_ADDED = 3

/** Whether the question refers to earlier messages. */
const pointsBack = (question: string, terms: Terms): boolean => {
  if (terms.asked(question).length < CONTENT_TERMS_MIN) return true
  const [first] = question.toLowerCase().match(BEGINNING) ?? []
  return first !== undefined && pointing.has(first)
}

/**
 * The search query: the question and, if it refers back, the three rarest words of the previous question and the
 * subject of its answer.
 */
export const searchQueryOf = (
  question: string,
  before: Turn | undefined,
  terms: Terms,
  weightOf: (term: string) => number
): string => {
  if (before === undefined || !pointsBack(question, terms)) return question
  const own = new Set(terms.asked(question))
  const words = [...terms.askedWords(before.question)]
    .filter(([term]) => !own.has(term))
    .toSorted(([a], [b]) => weightOf(b) - weightOf(a))
    .slice(0, TERMS_ADDED)
    .map(([, word]) => word)
  return [question, ...words, ...(before.citedTitle === undefined ? [] : [before.citedTitle])].join(" ")
}
