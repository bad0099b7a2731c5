/** Comments and headings as texts, for the tests of the prose rules. */

/** Each comment of a module as one line of text, without its line breaks and stars. */
export const commentsOf = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+/gm)].map(([text]) =>
    text
      .replace(/^\s*(\/\*\*?|\/\/|\*(?!\/))|\*\/$/gm, "")
      .replace(/\s+/g, " ")
      .trim()
  )

/** Headings of a Markdown page as URL fragments. */
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
