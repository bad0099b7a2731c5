/** Comments and headings as texts, for the tests that hold the rules of prose. */

/** Each comment of a module as one line of text: its own line breaks and stars are layout. */
export const commentsOf = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm)].map(([text]) =>
    text
      .replace(/^\s*(\/\*\*?|\/\/|\*(?!\/))|\*\/$/gm, "")
      .replace(/\s+/g, " ")
      .trim()
  )

/** Headings of a page of Markdown as the fragments of their addresses. */
export const headingsOf = (page: string): ReadonlySet<string> =>
  new Set(
    [...page.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replace(/\s/g, "-")
    )
  )
