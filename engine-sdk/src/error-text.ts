/** Quotes the request's own text in an error: enough to recognize it, but not all of it. Pure. */

const QUOTED_MAX = 200
/** Maximum length of an entire message. Our own are shorter, so a longer one repeats unmarked text of the request. */
const SENTENCE_MAX = 800

const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "")}…`

/** Cuts every quoted part, and every run without a space, at 200 characters, and the entire text at 800. O(text). */
export const boundedText = (message: string): string =>
  message.length <= QUOTED_MAX
    ? message
    : cut(
        message
          .replace(/`([^`]*)`/g, (whole: string, quoted: string) =>
            quoted.length <= QUOTED_MAX ? whole : `\`${cut(quoted, QUOTED_MAX)}\``
          )
          .replace(/[^\s`]{201,}/g, (run) => cut(run, QUOTED_MAX)),
        SENTENCE_MAX
      )
