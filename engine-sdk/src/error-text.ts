/** Quotes the request's own text in an error: enough to recognise it, not all of it. Pure. */

const QUOTED_MAX = 200
/** Longest length of a whole sentence: ours are shorter, so a longer one repeats unmarked text of the request. */
const SENTENCE_MAX = 800

const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "")}…`

/** Every quoted part, and every run without a blank, is cut at 200 characters; the whole at 800. O(text). */
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
